package io.holdfast;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * Time-bounded ownership of a key. A lease is a capability: any code that has the object
 * may use and release it, from any thread. All methods are thread-safe.
 *
 * <p>
 * A lease ends by release, by expiry, or by loss. It is <em>lost</em> when it was not
 * renewed in time by this process's monotonic clock, when the store says that another
 * owner has the key, when it was released by force, or when a shutdown or a database with
 * a later fencing token ends it. A lost lease never comes back.
 *
 * <p>
 * A forced release by another instance is noticed by a notification of the store. Other
 * changes in the store, and a forced release whose notification is lost, are noticed at
 * the next renewal, after about a third of the lease time, or at the release. Until then,
 * the lease counts as held.
 *
 * @since 0.1.0
 */
public interface Lease extends AutoCloseable {

	/**
	 * Return the innermost lease of the code that the current thread runs. For an
	 * annotated method with a lock and permits, this is the lease of the lock. In a
	 * reactive chain, use the chain's {@link LeaseContext} instead.
	 * @return the lease
	 * @throws IllegalStateException if this thread runs no code under a lease
	 */
	static Lease current() {
		return LeaseContext.current().lease();
	}

	/**
	 * Return the key of the request, with its {@linkplain KeyNamespace namespace} in
	 * front.
	 * @return the key; for a lease of several keys, a text that lists the keys
	 */
	String key();

	/**
	 * Return whether this lease is still held, by this process's monotonic clock. Does
	 * not ask the store and does not block.
	 * @return {@code false} once the lease is released, expired or lost; it then never
	 * becomes {@code true} again
	 */
	boolean isHeld();

	/**
	 * Return the time for which this lease is certain to be held without another renewal.
	 * Does not block.
	 * @return the time left, zero if the lease is no longer held
	 */
	Duration remaining();

	/**
	 * Extend this lease in the store to at least the given time from now. For its holder,
	 * the lease ends sooner by 1 % and 2 ms, because clocks differ in speed. Never
	 * shortens the lease. Blocks until the store answers.
	 * @param leaseTime the minimum time left in the store, from 1 ms to 365 days
	 * @throws IllegalArgumentException if the time is out of these bounds
	 * @throws LeaseLostException if the lease was lost or is already released
	 * @throws LeaseStoreException if the store refused or did not answer in time. Without
	 * an answer, the lease may be extended all the same
	 */
	void extend(Duration leaseTime);

	/**
	 * Register an action that runs once if this lease is lost before its release. The
	 * action runs at once if the lease is lost already, and never if the lease is
	 * released already. If only the answer to the release shows the loss, the action runs
	 * after the release has begun. Actions run on a Holdfast thread, never on the
	 * caller's thread.
	 * @param action the action; its exceptions are logged
	 */
	void onLost(Runnable action);

	/**
	 * Check that this lease is still held, as {@link #isHeld()} does.
	 * @throws LeaseLostException if it is not
	 */
	void ensureHeld();

	/**
	 * Release this lease. Blocks until the store answers. An interrupt does not end the
	 * wait, and the thread's interrupt flag is kept. The store is not asked if another
	 * lease of the key is still open on the same thread or context, if this instance
	 * hands the lock or permits over to its next waiter, or if a shutdown has ended the
	 * lease.
	 * @return the result of the release
	 * @throws LeaseStoreException if the store refused or did not answer in time. The
	 * lease counts as released all the same: it is not renewed any more, the release is
	 * repeated in the background, and the key expires at the end of its lease time at the
	 * latest
	 */
	ReleaseResult release();

	/**
	 * Release this lease without waiting for the store.
	 * @return a future of the result, which may fail with {@link LeaseStoreException}.
	 * Continuations run on a Holdfast thread and may block
	 */
	CompletableFuture<ReleaseResult> releaseAsync();

	/**
	 * Release this lease unused, without waiting for the store. Its {@code minHold} does
	 * not apply, because its work was not done.
	 * @return a future of the result, as of {@link #releaseAsync()}
	 */
	default CompletableFuture<ReleaseResult> discardAsync() {
		return releaseAsync();
	}

	/**
	 * Release this lease without waiting for the store: this method returns after the
	 * release was sent. Later requests of this instance reach the store after the
	 * release. Another instance may find the key taken for one more network delay. Call
	 * {@link #release()} instead before signalling another instance that tries without
	 * waiting, or if this process may be frozen.
	 * <p>
	 * Throws no exception: a failure is logged, and the release is repeated in the
	 * background. A loss that only the answer shows is reported like any other loss. If
	 * 1,000 releases of this instance have no answer yet, this method blocks as
	 * {@link #release()} does. With the store in memory, the release is complete when
	 * this method returns. A second call has no effect.
	 */
	@Override
	void close();

}
