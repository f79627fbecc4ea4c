package io.holdfast;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * Time-bounded ownership of a key. A lease is a capability: any code that has the object
 * may use and release it, from any thread. All methods are thread-safe.
 *
 * <p>
 * A lease ends by release, by expiry, or by loss. It is <em>lost</em> when the store says
 * that another owner has the key, or when it was not renewed in time by this process's
 * monotonic clock. A lost lease never comes back.
 *
 * <p>
 * The store is asked by renewals, at about a third of the lease time, and by the release
 * of the last lease of a key that this thread or context has. Until then a lease that was
 * deleted there, or released by force by another instance, counts as held.
 *
 * @since 0.1.0
 */
public interface Lease extends AutoCloseable {

	/**
	 * The innermost lease of the annotated method that the current thread runs: that of
	 * its lock, if it has permits too. Reactive chains have theirs in their
	 * {@link LeaseContext}.
	 * @return the lease
	 * @throws IllegalStateException if this thread does not run such a method
	 */
	static Lease current() {
		return LeaseContext.current().lease();
	}

	/**
	 * Return the key as its user named it, after its {@linkplain KeyNamespace namespace};
	 * of several locked together, all of them in one text.
	 * @return the key
	 */
	String key();

	/**
	 * Return whether this lease is still held. Answers from this process's monotonic
	 * clock, without asking the store.
	 * @return {@code false} once released, expired or lost; then for ever
	 */
	boolean isHeld();

	/**
	 * Return how long this lease is still certain to be held if it is not renewed any
	 * more.
	 * @return the time left, zero if it is no longer held
	 */
	Duration remaining();

	/**
	 * Extend this lease so that at least the given time is left from now on; a longer
	 * time left is never shortened. Blocks until the store answers.
	 * @param leaseTime the least time that is to be left, from 1 ms to 365 days
	 * @throws IllegalArgumentException if the time is out of these bounds
	 * @throws LeaseLostException if the lease was lost or is already released
	 * @throws LeaseStoreException if the store refused or did not answer in time; the
	 * lease is then held for as long as it was before
	 */
	void extend(Duration leaseTime);

	/**
	 * Have an action run once if this lease is lost before it is released; at once if it
	 * was lost already. It runs on a thread of Holdfast's, not on the caller's, and after
	 * the release has begun if only that finds out. An action that is added after the
	 * release never runs.
	 * @param action the action; its exceptions are logged
	 */
	void onLost(Runnable action);

	/**
	 * Check that this lease is still held, as {@link #isHeld()} does.
	 * @throws LeaseLostException if it is not
	 */
	void ensureHeld();

	/**
	 * Release this lease. Blocks until the store answered; an interrupt does not end the
	 * wait, and the thread's interrupt flag is kept. The store is not asked while other
	 * leases of the same thread or context are open, nor if the lock or permits go to the
	 * next waiter of this instance, or are kept for it.
	 * @return the result of the release
	 * @throws LeaseStoreException if the store refused or did not answer in time. The
	 * lease counts as released all the same: renewal has ended, the release is repeated
	 * in the background, and the key expires at the latest at the end of its lease
	 */
	ReleaseResult release();

	/**
	 * Release this lease without waiting for the store.
	 * @return the result to come; fails with {@link LeaseStoreException}. Continuations
	 * run on a thread of Holdfast's that may block
	 */
	CompletableFuture<ReleaseResult> releaseAsync();

	/**
	 * Release this lease unused, without waiting for the store: its work was not done, so
	 * no other owner is kept out for its {@code minHold}.
	 * @return as {@link #releaseAsync()}
	 */
	default CompletableFuture<ReleaseResult> discardAsync() {
		return releaseAsync();
	}

	/**
	 * Release this lease without waiting for the store: the release is sent, and this
	 * method returns. Requests of this instance come behind it. Another instance may find
	 * the key taken for one network delay more: call {@link #release()} before it is told
	 * to try without a wait, or if this process may be frozen.
	 * <p>
	 * Nothing is thrown. A failure is logged, and the release repeated in the background;
	 * a loss that only the answer tells is told as any other. Blocks only while 1,000
	 * releases of this instance have no answer, then as {@link #release()} does. In
	 * memory the release has happened when this method returns. Closing again does
	 * nothing.
	 */
	@Override
	void close();

}
