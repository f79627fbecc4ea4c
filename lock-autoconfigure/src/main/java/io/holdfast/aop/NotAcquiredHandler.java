package io.holdfast.aop;

import io.holdfast.HoldfastException;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/**
 * Handles a call that cannot have its lease.
 */
interface NotAcquiredHandler {

	/** The caller gets the exception. */
	NotAcquiredHandler THROW = (call, ex) -> {
		throw ex;
	};

	/** End the call without its method. */
	@Nullable Object take(MethodInvocation call, HoldfastException ex) throws Throwable;

}
