package io.holdfast.aop.invoke;

import org.jspecify.annotations.Nullable;

/**
 * Evaluates the expressions of one annotation for a call, each time anew. Thread-safe.
 */
@FunctionalInterface
public interface MethodLeaseSource {

	/**
	 * Return the lease to acquire now.
	 * @return the lease, or {@code null} if the call needs nothing
	 * @throws Throwable if the call yields no key, or a condition that is neither true
	 * nor false; or the exception of a bean that was asked
	 */
	@Nullable MethodLease next() throws Throwable;

}
