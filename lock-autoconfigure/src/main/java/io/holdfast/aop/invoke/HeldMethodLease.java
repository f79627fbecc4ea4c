package io.holdfast.aop.invoke;

import java.util.concurrent.CompletableFuture;

import io.holdfast.Lease;
import io.holdfast.annotation.OnLoss;
import org.jspecify.annotations.Nullable;

/**
 * A lease that one call of a method holds.
 */
public interface HeldMethodLease {

	Lease lease();

	/**
	 * Return whether nothing is held, as the store failed and the method is to run all
	 * the same.
	 */
	boolean isUnguarded();

	/** Return what becomes of the call if the lease is lost. */
	OnLoss onLoss();

	/**
	 * Release as if nothing had been held, as the method was not run. Does not block, and
	 * throws nothing: the store may be silent, and the caller's wait time over.
	 */
	void discard();

	/**
	 * Release without an answer, on a thread that may block, as the transaction was
	 * completed. Does not block, and throws nothing.
	 * @return completed once the release was sent, on a thread that must not block; never
	 * fails
	 */
	CompletableFuture<?> sendRelease();

	/**
	 * Do the same on any thread.
	 * @return completed once the release was sent; never fails
	 */
	CompletableFuture<?> sendReleaseAsync();

	/**
	 * Look after the lease, as the method has ended, and release it now or when it is
	 * time. Throws nothing.
	 * @param failure what the method failed with, or {@code null}
	 * @return what the caller is to get as exception, whether the method's own or because
	 * the lease was lost; {@code null} for the method's result
	 */
	@Nullable Throwable end(@Nullable Throwable failure);

	/**
	 * Do the same without blocking.
	 * @param failure what the method failed with, or {@code null}
	 * @return completed when the release was sent or, if the result depends on it,
	 * answered; with what {@link #end} would give; never fails
	 */
	CompletableFuture<@Nullable Throwable> endAsync(@Nullable Throwable failure);

}
