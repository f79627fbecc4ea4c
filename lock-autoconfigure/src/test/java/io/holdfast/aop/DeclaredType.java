package io.holdfast.aop;

import java.lang.annotation.Annotation;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.description.annotation.AnnotationDescription;
import net.bytebuddy.description.modifier.ModifierContributor;
import net.bytebuddy.description.modifier.Visibility;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.dynamic.loading.ClassLoadingStrategy;
import net.bytebuddy.implementation.StubMethod;
import net.bytebuddy.matcher.ElementMatchers;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.provider.Arguments;

import org.springframework.util.ReflectionUtils;

/**
 * Generated type with an annotated method, for tests of many similar declarations.
 */
final class DeclaredType {

	private static final AtomicInteger NUMBER = new AtomicInteger();

	private final DynamicType.Builder<?> builder;

	private DeclaredType(DynamicType.Builder<?> builder) {
		this.builder = builder;
	}

	/**
	 * Make a type with a method {@code void sell(String sku, int count)}.
	 * @param annotation the annotation of its method
	 * @param attributes the names and values of its attributes, in turn
	 * @return a new class
	 */
	static Class<?> with(Class<? extends Annotation> annotation, Object... attributes) {
		return new DeclaredType(builder().defineMethod("sell", void.class, Visibility.PUBLIC)
			.withParameter(String.class, "sku")
			.withParameter(int.class, "count")
			.intercept(StubMethod.INSTANCE)
			.annotateMethod(annotation(annotation, attributes))).make();
	}

	/** Make a type with a method {@code void sell(T value)} and a key. */
	static Class<?> keyed(String key, Class<?> type) {
		return new DeclaredType(builder().defineMethod("sell", void.class, Visibility.PUBLIC)
			.withParameter(type, "value")
			.intercept(StubMethod.INSTANCE)
			.annotateMethod(annotation(DistributedLock.class, "key", key))).make();
	}

	/** Make a class with interfaces, whose other methods are inherited or do nothing. */
	static Class<?> implementing(Class<?> base, Class<?>... interfaces) {
		return new DeclaredType(new ByteBuddy().subclass(base)
			.name(DeclaredType.class.getName() + NUMBER.incrementAndGet())
			.implement(interfaces)
			.method(ElementMatchers.isAbstract())
			.intercept(StubMethod.INSTANCE)).make();
	}

	/** Call the method of a type with a value. */
	static void sell(Object bean, @Nullable Object value) {
		Method method = Stream.of(bean.getClass().getMethods())
			.filter((each) -> each.getName().equals("sell"))
			.findFirst()
			.orElseThrow();
		ReflectionUtils.invokeMethod(method, bean, value);
	}

	/** Call the method of a type with both parameters. */
	static void sell(Object bean) {
		Method method = ReflectionUtils.findMethod(bean.getClass(), "sell", String.class, int.class);
		ReflectionUtils.invokeMethod(Objects.requireNonNull(method), bean, "a", 1);
	}

	/**
	 * Begin a type with a method {@code sell(String sku)}.
	 * @param result the return type
	 * @param annotation the annotation of its method
	 * @param attributes the names and values of its attributes, in turn
	 * @return the unfinished type
	 */
	static DeclaredType selling(Type result, Class<? extends Annotation> annotation, Object... attributes) {
		return selling(Visibility.PACKAGE_PRIVATE, result, annotation, attributes);
	}

	/** Begin a type whose method {@code sell(String sku)} has a modifier. */
	static DeclaredType selling(ModifierContributor.ForMethod modifier, Type result,
			Class<? extends Annotation> annotation, Object... attributes) {
		return new DeclaredType(builder().defineMethod("sell", result, modifier)
			.withParameter(String.class, "sku")
			.intercept(StubMethod.INSTANCE)
			.annotateMethod(annotation(annotation, attributes)));
	}

	/** Add a method {@code other}. */
	DeclaredType other(Type result, Type... parameters) {
		return new DeclaredType(
				this.builder.defineMethod("other", result).withParameters(parameters).intercept(StubMethod.INSTANCE));
	}

	Class<?> make() {
		return this.builder.make()
			.load(DeclaredType.class.getClassLoader(), ClassLoadingStrategy.UsingLookup.of(MethodHandles.lookup()))
			.getLoaded();
	}

	private static DynamicType.Builder<?> builder() {
		return new ByteBuddy().subclass(Object.class).name(DeclaredType.class.getName() + NUMBER.incrementAndGet());
	}

	private static AnnotationDescription annotation(Class<? extends Annotation> annotation, Object... attributes) {
		AnnotationDescription.Builder declaration = AnnotationDescription.Builder.ofType(annotation);
		for (int i = 0; i < attributes.length; i += 2) {
			declaration = define(declaration, (String) attributes[i], attributes[i + 1]);
		}
		return declaration.build();
	}

	private static AnnotationDescription.Builder define(AnnotationDescription.Builder declaration, String name,
			Object value) {
		if (value instanceof Integer number) {
			return declaration.define(name, number);
		}
		if (value instanceof Enum<?> constant) {
			return declaration.define(name, constant);
		}
		return (value instanceof Boolean flag) ? declaration.define(name, flag)
				: declaration.define(name, (String) value);
	}

	/**
	 * Make a type that is refused for an attribute.
	 * @param annotation the annotation of its method
	 * @param attribute the attribute
	 * @param value its value
	 * @param problem the problem in the message
	 * @param cure the cure in the message
	 * @param others the names and values of further attributes
	 * @return the type, the attribute as messages quote it, the problem, the cure
	 */
	static Arguments refused(Class<? extends Annotation> annotation, String attribute, Object value, String problem,
			String cure, Object... others) {
		Object[] attributes = new Object[others.length + 2];
		attributes[0] = attribute;
		attributes[1] = value;
		System.arraycopy(others, 0, attributes, 2, others.length);
		String quoted = (value instanceof String) ? "\"" + value + "\"" : value.toString();
		return Arguments.of(with(annotation, attributes), "sell(String, int): " + attribute + " = " + quoted, problem,
				cure);
	}

}
