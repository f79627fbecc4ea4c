package io.holdfast.aop;

import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;

import io.holdfast.HoldfastException;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

import org.springframework.core.KotlinDetector;
import org.springframework.core.Nullness;
import org.springframework.core.ResolvableType;

/**
 * Handler of a call that does not get its lease.
 */
interface NotAcquiredHandler {

	/** Handler that throws the exception. */
	NotAcquiredHandler THROW = (call, ex) -> {
		throw ex;
	};

	/** Empty values of types that have one other than null. */
	Map<Class<?>, Object> EMPTY = Map.of(Optional.class, Optional.empty(), OptionalInt.class, OptionalInt.empty(),
			OptionalLong.class, OptionalLong.empty(), OptionalDouble.class, OptionalDouble.empty());

	/** Return the result of a call whose method does not run, or throw an exception. */
	@Nullable Object take(MethodInvocation call, HoldfastException ex) throws Throwable;

	/**
	 * Return the handler that returns a method's empty result.
	 * @throws InvalidDeclarationException if the return type has no empty value
	 */
	static NotAcquiredHandler empty(AnnotatedMethod annotated) {
		ResolvableType returned = annotated.returned();
		Class<?> type = returned.toClass();
		ReturnKind kind = ReturnKind.of(annotated);
		boolean direct = annotated.isSuspending() || (kind != ReturnKind.STAGE && kind != ReturnKind.REACTIVE);
		Object value = EMPTY.get((direct ? returned : returned.getGeneric()).toClass());
		if (type.isPrimitive() && type != void.class && !annotated.isSuspending()) {
			throw impossible(annotated, type, "an object that may be null or empty, such as Optional");
		}
		if (direct && value == null && type != void.class
				&& Nullness.forMethodReturnType(annotated.method()) == Nullness.NON_NULL) {
			throw impossible(annotated, type, KotlinDetector.isKotlinType(annotated.method().getDeclaringClass())
					? "a type that may be null (with ?)" : "a type that may be null (with @Nullable) or empty");
		}
		if (kind == ReturnKind.STAGE) {
			return (call, ex) -> CompletableFuture.completedFuture(value);
		}
		if (kind != ReturnKind.REACTIVE) {
			return (call, ex) -> value;
		}
		NotAcquiredHandler handler = ReactiveInvocation.emptyResult(annotated, value);
		if (handler == null) {
			throw impossible(annotated, type, "a type that may be empty, such as Mono or Maybe");
		}
		return handler;
	}

	private static InvalidDeclarationException impossible(AnnotatedMethod annotated, Class<?> type, String instead) {
		return annotated.invalid("onTimeout",
				"is not possible, because the method returns " + type.getName() + ", which has no empty value",
				"Have it return " + instead + ", or name a fallback");
	}

}
