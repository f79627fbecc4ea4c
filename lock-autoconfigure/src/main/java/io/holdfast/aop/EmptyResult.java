package io.holdfast.aop;

import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;

import io.holdfast.NotAcquiredException;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.core.ResolvableType;

/**
 * The way out that gives the caller an empty result.
 *
 * @param type what the method returns
 */
record EmptyResult(ResolvableType type) implements WayOut {

	private static final Map<Class<?>, Object> EMPTY_VALUES = Map.of(Optional.class, Optional.empty(),
			OptionalInt.class, OptionalInt.empty(), OptionalLong.class, OptionalLong.empty(), OptionalDouble.class,
			OptionalDouble.empty());

	/**
	 * The empty result for a method.
	 * @param attributes its annotation
	 * @return the way out
	 * @throws InvalidDeclarationException if its return type has no empty value
	 */
	static EmptyResult of(Attributes attributes) {
		ResolvableType type = attributes.declaration().returned();
		Class<?> returned = type.toClass();
		if (returned.isPrimitive() && returned != void.class) {
			throw attributes.invalid("onTimeout",
					"is not possible, because the method returns " + returned + ", which has no empty value",
					"Have it return an object that may be null or empty, such as Optional, or name a fallback", null);
		}
		return new EmptyResult(type);
	}

	@Override
	public @Nullable Object take(MethodInvocation call, NotAcquiredException ex) {
		return EMPTY_VALUES.get(this.type.toClass());
	}

}
