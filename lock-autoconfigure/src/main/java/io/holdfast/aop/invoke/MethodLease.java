package io.holdfast.aop.invoke;

import java.util.concurrent.CompletableFuture;

import io.holdfast.HoldfastException;
import io.holdfast.LeaseContext;
import org.jspecify.annotations.Nullable;

/**
 * The lease that one annotation asks for around one call, its expressions evaluated.
 * However the method gives its result, it goes through this: acquire, or handle that it
 * was not acquired; then run the method; then end what is held.
 */
public interface MethodLease {

	/**
	 * Return whether it takes part in transactions, if there can be any. Blocking
	 * acquisitions see to that themselves.
	 */
	boolean joinsTransaction();

	/**
	 * Acquire for the current thread, within its context. Blocks for the declared wait
	 * time at most.
	 */
	HeldMethodLease acquire();

	/**
	 * Acquire without blocking.
	 * @param transaction that of the caller, if there is one
	 * @return what is held, to come; cancel it to give up: what was granted by then is
	 * released. Fails as {@link #acquire()} throws
	 */
	CompletableFuture<HeldMethodLease> acquireAsync(LeaseContext context, @Nullable TransactionShare transaction);

	/**
	 * Return what the caller gets instead of the method's result.
	 * @param ex why it was not acquired, or that the store failed
	 * @return the result of the fallback, or the empty one; of the method's return type
	 * @throws Throwable the given exception if that is the declared way, or what the
	 * fallback throws
	 */
	@Nullable Object instead(HoldfastException ex) throws Throwable;

}
