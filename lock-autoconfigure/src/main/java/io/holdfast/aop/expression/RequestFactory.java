package io.holdfast.aop.expression;

import org.jspecify.annotations.Nullable;

/**
 * Makes the requests of an annotation from the arguments of calls. Thread-safe.
 *
 * @param <R> the type of the requests
 */
@FunctionalInterface
public interface RequestFactory<R> {

	/**
	 * Return the request of a call.
	 * @throws IllegalArgumentException if the call yields no key, or one that is refused
	 */
	R request(@Nullable Object target, @Nullable Object[] arguments);

}
