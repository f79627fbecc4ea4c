package io.holdfast;

import java.util.List;

import io.holdfast.async.SingleLine;

/**
 * The {@link Lease} of a lock.
 *
 * @since 0.1.0
 */
public interface LockLease extends Lease {

	/**
	 * The innermost lock of the annotated method, or of the code
	 * {@linkplain LockService#withLock(LockRequest, LeasedCall) with a lock}, that the
	 * current thread runs. Reactive chains have theirs in their {@link LeaseContext}.
	 * @return the lease
	 * @throws IllegalStateException if this thread does not run such code
	 */
	static LockLease current() {
		return LeaseContext.current().lock();
	}

	/**
	 * Return the locked key, or several in one text.
	 * @return the keys in their order
	 */
	default List<String> keys() {
		return List.of(key());
	}

	/**
	 * Return the fencing token of this lease: a positive number that is greater than that
	 * of every earlier grant of the same key, also across restarts and fail-overs of the
	 * store. Pass it on with each write and have the written resource refuse lower ones;
	 * that closes the gap of a holder that was paused beyond its lease. Nested leases
	 * share the number of the lease that they are nested in. Leases for reading have
	 * numbers in the same row.
	 * @return the fencing token
	 * @throws IllegalStateException if this is the lease of several keys, each of which
	 * has {@linkplain #fencingToken(String) its own}
	 * @see <a href=
	 * "https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html">Martin
	 * Kleppmann: How to do distributed locking</a>
	 */
	long fencingToken();

	/**
	 * Return the {@linkplain #fencingToken() fencing token} of one of the keys.
	 * @param key one of {@link #keys()}
	 * @return the fencing token
	 * @throws IllegalArgumentException if it is none of them
	 */
	default long fencingToken(String key) {
		if (!key.equals(key())) {
			throw new IllegalArgumentException(
					SingleLine.of("This is a lease of '" + key() + "', not of '" + key + "'"));
		}
		return fencingToken();
	}

	/**
	 * Return whether databases refuse the transactions of this lease once a later holder
	 * has been there.
	 * @return whether the lock was requested {@linkplain LockRequest#fenced() fenced}
	 */
	default boolean isFenced() {
		return false;
	}

	/**
	 * Have the release of this lease take effect at once, although its {@code minHold} is
	 * not over: its work has failed, and may be repeated. Annotated methods,
	 * {@code withLock} and their like do this by themselves if their code fails or is
	 * cancelled. Does not release. Does nothing for a nested lease, which has no
	 * {@code minHold}.
	 */
	default void waiveMinHold() {
	}

}
