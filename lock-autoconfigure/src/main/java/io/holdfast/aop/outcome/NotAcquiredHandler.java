package io.holdfast.aop.outcome;

import io.holdfast.HoldfastException;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/**
 * Handles a call that cannot have what it needs.
 */
public interface NotAcquiredHandler {

	/** The caller gets the exception. */
	NotAcquiredHandler THROW = (call, ex) -> {
		throw ex;
	};

	/**
	 * End the call without its method.
	 * @param call the call
	 * @param ex why it did not get what it needs
	 * @return the result for the caller
	 * @throws Throwable what the caller gets instead of a result
	 */
	@Nullable Object take(MethodInvocation call, HoldfastException ex) throws Throwable;

}
