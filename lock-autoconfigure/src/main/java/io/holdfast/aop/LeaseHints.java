package io.holdfast.aop;

import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.beans.factory.aot.BeanRegistrationAotContribution;
import org.springframework.beans.factory.aot.BeanRegistrationAotProcessor;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.beans.factory.support.RegisteredBean;
import org.springframework.core.KotlinDetector;
import org.springframework.core.ResolvableType;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.ParseException;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.BeanReference;
import org.springframework.expression.spel.ast.ConstructorReference;
import org.springframework.expression.spel.ast.MethodReference;
import org.springframework.expression.spel.ast.PropertyOrFieldReference;
import org.springframework.expression.spel.ast.TypeReference;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.expression.spel.support.StandardTypeLocator;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Registers reflection hints for native images: the annotated methods of a bean, their
 * fallbacks, and the members that their expressions read. Does not check declarations,
 * because the properties are only known at run time.
 */
final class LeaseHints implements BeanRegistrationAotProcessor {

	private static final Log logger = LogFactory.getLog(LeaseHints.class);

	private final List<AnnotatedMethods> annotations = Stream.of(Semaphore.class, DistributedLock.class)
		.map((type) -> new AnnotatedMethods(type, (text) -> text))
		.toList();

	@Override
	public @Nullable BeanRegistrationAotContribution processAheadOfTime(RegisteredBean bean) {
		// The product of a factory bean has another type than the factory bean.
		Class<?> product = bean.isInnerBean() ? null : bean.getBeanFactory().getType(bean.getBeanName(), false);
		List<AnnotatedMethod> found = Stream.of(bean.getBeanClass(), (product != null) ? product : bean.getBeanClass())
			.distinct()
			.flatMap((type) -> this.annotations.stream().flatMap((annotation) -> annotation.of(type).stream()))
			.toList();
		return found.isEmpty() ? null
				: (generation, code) -> found.forEach((annotatedMethod) -> register(annotatedMethod,
						bean.getBeanFactory(), generation.getRuntimeHints().reflection()));
	}

	/**
	 * Register the hints of an annotated method.
	 * @param beans the bean factory, which resolves placeholders and has the types of
	 * other beans
	 */
	private static void register(AnnotatedMethod annotatedMethod, ConfigurableBeanFactory beans,
			ReflectionHints hints) {
		hints.registerType(ClassUtils.getUserClass(annotatedMethod.targetClass()));
		hints.registerMethod(annotatedMethod.method(), ExecutableMode.INVOKE);
		String fallback = text(annotatedMethod, "fallback", beans);
		ReflectionUtils.doWithMethods(annotatedMethod.targetClass(),
				(candidate) -> hints.registerMethod(candidate, ExecutableMode.INVOKE),
				(candidate) -> candidate.getName().equals(fallback)
						|| AnnotatedMethod.sourceName(candidate).equals(fallback));
		for (String attribute : List.of("key", "condition")) {
			String text = text(annotatedMethod, attribute, beans);
			try {
				if (!text.isEmpty()) {
					new Reads(annotatedMethod, beans, hints)
						.register(new SpelExpressionParser().parseRaw(text).getAST());
				}
			}
			catch (ParseException | IllegalStateException ex) {
				// Perhaps because of a placeholder that can only be resolved at run time.
				logger.warn(annotatedMethod + ": the expression " + text + " cannot be parsed, so what it reads is not "
						+ "registered for a native image. Register it by @RegisterReflection");
			}
		}
	}

	private static String text(AnnotatedMethod annotatedMethod, String attribute, ConfigurableBeanFactory beans) {
		String written = annotatedMethod.annotation().getString(attribute);
		try {
			String resolved = beans.resolveEmbeddedValue(written);
			return (resolved != null) ? resolved : "";
		}
		catch (IllegalArgumentException ex) {
			// The property is only known at run time.
			return written;
		}
	}

	/**
	 * Registers the members that an expression may read by name, for all declared types
	 * that are reachable from arguments and beans. Members of subtypes cannot be known
	 * ahead of time.
	 */
	private static final class Reads {

		private final ConfigurableBeanFactory beans;

		private final ReflectionHints hints;

		/** Reachable types, by generic name. */
		private final Map<String, ResolvableType> types = new LinkedHashMap<>();

		private final Set<String> names = new HashSet<>();

		Reads(AnnotatedMethod annotatedMethod, ConfigurableBeanFactory beans, ReflectionHints hints) {
			this.beans = beans;
			this.hints = hints;
			add(ResolvableType.forClass(CallExpression.Root.class));
			add(ResolvableType.forClass(String.class));
			for (int i = 0; i < annotatedMethod.parameterCount(); i++) {
				add(ResolvableType.forMethodParameter(annotatedMethod.method(), i, annotatedMethod.targetClass()));
			}
		}

		void register(SpelNode expression) {
			collect(expression);
			// A path through types has at most as many steps as the expression has names.
			for (int i = 0; i < this.names.size(); i++) {
				List.copyOf(this.types.values()).forEach((type) -> this.names.forEach((name) -> read(type, name)));
			}
		}

		private void collect(SpelNode node) {
			if (node instanceof PropertyOrFieldReference property) {
				this.names.add(property.getName());
			}
			else if (node instanceof MethodReference method) {
				this.names.add(method.getName());
			}
			else if (node instanceof BeanReference bean && this.beans.containsBean(bean.getName())) {
				Class<?> type = this.beans.getType(bean.getName());
				add(ResolvableType.forClass((type != null) ? ClassUtils.getUserClass(type) : null));
			}
			else if (node instanceof TypeReference || node instanceof ConstructorReference) {
				addNamed(node.getChild(0).toStringAST());
			}
			for (int i = 0; i < node.getChildCount(); i++) {
				collect(node.getChild(i));
			}
		}

		private void addNamed(String name) {
			try {
				Class<?> type = new StandardTypeLocator(this.beans.getBeanClassLoader()).findType(name);
				this.hints.registerType(type, MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS);
				add(ResolvableType.forClass(type));
			}
			catch (EvaluationException ex) {
				// Calls will report the unknown type.
			}
		}

		/** Add a type, its element types, and the accessor of a Kotlin value class. */
		private void add(ResolvableType type) {
			if (this.types.putIfAbsent(type.toString(), type) != null) {
				return;
			}
			Method unbox = KotlinDetector.isKotlinType(type.toClass())
					? ReflectionUtils.findMethod(type.toClass(), "unbox-impl") : null;
			if (unbox != null) {
				this.hints.registerMethod(unbox, ExecutableMode.INVOKE);
			}
			Stream.of(type.getGenerics()).forEach(this::add);
			Stream.of(type.getComponentType(), type.as(Iterable.class).getGeneric(), type.asMap().getGeneric(1))
				.filter((element) -> element != ResolvableType.NONE)
				.forEach(this::add);
		}

		/** Register all overloads, because the choice depends on the values. */
		private void read(ResolvableType type, String name) {
			Member property = ExpressionSyntax.property(type.toClass(), name);
			if (property instanceof Field field) {
				this.hints.registerField(field);
				add(ResolvableType.forField(field, type));
			}
			Stream
				.concat(Stream.of(type.toClass().getMethods()).filter((method) -> method.getName().equals(name)),
						(property instanceof Method getter) ? Stream.of(getter) : Stream.empty())
				.filter((method) -> !method.isBridge())
				.forEach((method) -> {
					this.hints.registerMethod(method, ExecutableMode.INVOKE);
					add(ResolvableType.forType(method.getGenericReturnType(), type));
				});
		}

	}

}
