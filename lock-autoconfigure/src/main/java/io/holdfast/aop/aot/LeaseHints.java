package io.holdfast.aop.aot;

import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.aop.expression.CallExpression;
import io.holdfast.aop.metadata.LeaseOperationSource;
import io.holdfast.aop.method.AnnotatedMethod;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.aot.generate.GenerationContext;
import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.beans.factory.aot.BeanRegistrationAotContribution;
import org.springframework.beans.factory.aot.BeanRegistrationAotProcessor;
import org.springframework.beans.factory.aot.BeanRegistrationCode;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.beans.factory.support.RegisteredBean;
import org.springframework.core.ResolvableType;
import org.springframework.expression.ParseException;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.expression.spel.support.StandardTypeLocator;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Registers, for a native image, what the annotated methods of a bean need by reflection:
 * the methods themselves, their fallbacks, and what their expressions read. Declarations
 * are not checked here, since the properties of the run are not known.
 */
final class LeaseHints implements BeanRegistrationAotProcessor {

	private static final Log logger = LogFactory.getLog(LeaseHints.class);

	private final List<LeaseOperationSource<?, ?>> operations = List.of(
			new LeaseOperationSource<>(Semaphore.class, (annotatedMethod) -> annotatedMethod),
			new LeaseOperationSource<>(DistributedLock.class, (annotatedMethod) -> annotatedMethod));

	@Override
	public @Nullable BeanRegistrationAotContribution processAheadOfTime(RegisteredBean bean) {
		// What a factory makes is of another type than itself.
		Set<Class<?>> types = new LinkedHashSet<>();
		types.add(bean.getBeanClass());
		Class<?> made = bean.getBeanFactory().getType(bean.getBeanName(), false);
		if (made != null) {
			types.add(made);
		}
		List<AnnotatedMethod<?>> found = types.stream().<AnnotatedMethod<?>>flatMap(this::declared).toList();
		return found.isEmpty() ? null : new Contribution(found, bean.getBeanFactory());
	}

	private Stream<? extends AnnotatedMethod<?>> declared(Class<?> type) {
		return this.operations.stream().map((each) -> each.of(type)).flatMap(Collection::stream);
	}

	/**
	 * The hints for one bean.
	 *
	 * @param annotatedMethods its annotated methods
	 * @param beanFactory resolves placeholders, and knows other beans
	 */
	private record Contribution(List<AnnotatedMethod<? extends Annotation>> annotatedMethods,
			ConfigurableBeanFactory beanFactory) implements BeanRegistrationAotContribution {

		@Override
		public void applyTo(GenerationContext generation, BeanRegistrationCode code) {
			ReflectionHints hints = generation.getRuntimeHints().reflection();
			this.annotatedMethods.forEach((annotatedMethod) -> register(annotatedMethod, hints));
		}

		private void register(AnnotatedMethod<?> annotatedMethod, ReflectionHints hints) {
			Method method = annotatedMethod.method();
			hints.registerType(ClassUtils.getUserClass(annotatedMethod.targetClass()));
			hints.registerMethod(method, ExecutableMode.INVOKE);
			String fallback = text(annotatedMethod, "fallback");
			ReflectionUtils.doWithMethods(annotatedMethod.targetClass(),
					(candidate) -> hints.registerMethod(candidate, ExecutableMode.INVOKE),
					(candidate) -> candidate.getName().equals(fallback)
							|| AnnotatedMethod.sourceName(candidate).equals(fallback));
			ExpressionHints expressions = new ExpressionHints(ResolvableType.forClass(CallExpression.Root.class),
					variables(annotatedMethod), this::typeOf,
					new StandardTypeLocator(this.beanFactory.getBeanClassLoader()), hints);
			Stream.of("key", "condition")
				.map((attribute) -> text(annotatedMethod, attribute))
				.filter((text) -> !text.isEmpty())
				.forEach((text) -> register(annotatedMethod, text, expressions));
		}

		private static void register(AnnotatedMethod<?> annotatedMethod, String text, ExpressionHints expressions) {
			SpelExpression expression;
			try {
				expression = new SpelExpressionParser().parseRaw(text);
			}
			catch (ParseException | IllegalStateException ex) {
				// Perhaps because of a placeholder that only the run can resolve.
				logger.warn(annotatedMethod + ": the expression " + text + " cannot be parsed, so what it reads is not "
						+ "registered for a native image. Register it by @RegisterReflection");
				return;
			}
			expressions.register(expression.getAST());
		}

		private static Map<String, ResolvableType> variables(AnnotatedMethod<?> annotatedMethod) {
			Map<String, ResolvableType> types = new LinkedHashMap<>();
			CallExpression.parameters(annotatedMethod)
				.forEach((name, position) -> types.put(name, ResolvableType.forMethodParameter(annotatedMethod.method(),
						position, annotatedMethod.targetClass())));
			return types;
		}

		private String text(AnnotatedMethod<?> annotatedMethod, String attribute) {
			String written = annotatedMethod.annotation().getString(attribute);
			try {
				String resolved = this.beanFactory.resolveEmbeddedValue(written);
				return (resolved != null) ? resolved : "";
			}
			catch (IllegalArgumentException ex) {
				// A property that only the run has.
				return written;
			}
		}

		private @Nullable Class<?> typeOf(String bean) {
			Class<?> type = this.beanFactory.containsBean(bean) ? this.beanFactory.getType(bean) : null;
			return (type != null) ? ClassUtils.getUserClass(type) : null;
		}

	}

}
