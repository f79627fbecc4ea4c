package io.holdfast.aop;

import java.lang.reflect.Method;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

import io.holdfast.HoldfastException;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

import org.springframework.core.KotlinDetector;
import org.springframework.core.Nullness;
import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ResolvableType;

/**
 * Gives the caller an empty result.
 *
 * @param results makes the result for a call
 */
record SkipHandler(Supplier<@Nullable Object> results) implements NotAcquiredHandler {

	private static final Map<Class<?>, Object> EMPTY_VALUES = Map.of(Optional.class, Optional.empty(),
			OptionalInt.class, OptionalInt.empty(), OptionalLong.class, OptionalLong.empty(), OptionalDouble.class,
			OptionalDouble.empty());

	/**
	 * Return the handler that gives a method's empty result.
	 * @throws InvalidDeclarationException if its return type has no empty value
	 */
	static SkipHandler of(AnnotationValues attributes) {
		ResolvableType type = attributes.annotatedMethod().returned();
		Object value = EMPTY_VALUES.get(type.toClass());
		Object later = attributes.annotatedMethod().isSuspending() ? value
				: EMPTY_VALUES.get(type.getGeneric().toClass());
		return new SkipHandler(switch (ReturnKind.of(attributes.annotatedMethod())) {
			case STAGE -> () -> CompletableFuture.completedFuture(later);
			case REACTIVE -> reactive(attributes, type.toClass(), later);
			case PLAIN, UNSUPPORTED -> plain(attributes, type.toClass(), value);
		});
	}

	private static Supplier<@Nullable Object> plain(AnnotationValues attributes, Class<?> type,
			@Nullable Object value) {
		if (type.isPrimitive() && type != void.class) {
			throw impossible(attributes, type, "an object that may be null or empty, such as Optional");
		}
		checkNull(attributes, type, value);
		return () -> value;
	}

	private static void checkNull(AnnotationValues attributes, Class<?> type, @Nullable Object value) {
		Method method = attributes.annotatedMethod().method();
		if (value == null && type != void.class && Nullness.forMethodReturnType(method) == Nullness.NON_NULL) {
			throw impossible(attributes, type, KotlinDetector.isKotlinType(method.getDeclaringClass())
					? "a type that may be null (with ?)" : "a type that may be null (with @Nullable) or empty");
		}
	}

	private static Supplier<@Nullable Object> reactive(AnnotationValues attributes, Class<?> type,
			@Nullable Object value) {
		AnnotatedMethod method = attributes.annotatedMethod();
		if (method.isSuspending()) {
			checkNull(attributes, type, value);
		}
		Supplier<@Nullable Object> results = Publishers.empty(method, value);
		if (results == null) {
			throw impossible(attributes, type, "a type that may be empty, such as Mono or Maybe");
		}
		return results;
	}

	private static InvalidDeclarationException impossible(AnnotationValues attributes, Class<?> type, String instead) {
		return attributes.invalid("onTimeout",
				"is not possible, because the method returns " + type.getName() + ", which has no empty value",
				"Have it return " + instead + ", or name a fallback", null);
	}

	@Override
	public @Nullable Object take(MethodInvocation call, HoldfastException ex) {
		return this.results.get();
	}

	/** Apart, as Reactor need not be there. */
	private static final class Publishers {

		static @Nullable Supplier<@Nullable Object> empty(AnnotatedMethod method, @Nullable Object value) {
			ReactiveAdapter adapter = method.reactiveAdapter();
			if (value != null && !adapter.isMultiValue()) {
				return () -> adapter.fromPublisher(Mono.just(value));
			}
			return adapter.supportsEmpty() ? () -> adapter.fromPublisher(Mono.empty()) : null;
		}

	}

}
