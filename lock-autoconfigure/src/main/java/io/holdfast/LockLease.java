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
	 * Return the innermost lock lease of the annotated method, or of the
	 * {@linkplain LockService#withLock(LockRequest, LeasedCall) code with a lock}, that
	 * the current thread runs. In a reactive chain, use the chain's {@link LeaseContext}
	 * instead.
	 * @return the lease
	 * @throws IllegalStateException if this thread runs no code with a lock
	 */
	static LockLease current() {
		return LeaseContext.current().lock();
	}

	/**
	 * Return the locked keys.
	 * @return the keys in the order of their acquisition, at least one
	 */
	default List<String> keys() {
		return List.of(key());
	}

	/**
	 * Return the fencing token of this lease: a positive number, greater than the token
	 * of each earlier grant of the key, also across restarts and fail-overs of the store,
	 * unless the clock of the store goes back. Send the token with each write, and have
	 * the written resource refuse a token lower than the highest one seen. The resource
	 * then refuses a holder that was paused beyond the end of its lease. A nested lease
	 * has the token of its outer lease. Leases for reading take their tokens from the
	 * same sequence as exclusive leases, but two readers may have the same token.
	 * @return the fencing token
	 * @throws IllegalStateException if this is the lease of several keys, because each
	 * key has {@linkplain #fencingToken(String) its own token}
	 * @see <a href=
	 * "https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html">Martin
	 * Kleppmann: How to do distributed locking</a>
	 */
	long fencingToken();

	/**
	 * Return the {@linkplain #fencingToken() fencing token} of one of the keys.
	 * @param key one of {@link #keys()}
	 * @return the fencing token
	 * @throws IllegalArgumentException if the key is not one of {@link #keys()}
	 */
	default long fencingToken(String key) {
		if (!key.equals(key())) {
			throw new IllegalArgumentException(
					SingleLine.of("This is a lease of '" + key() + "', not of '" + key + "'"));
		}
		return fencingToken();
	}

	/**
	 * Return whether databases refuse the transactions of this lease after they have seen
	 * a later holder's token.
	 * @return whether the lock was requested {@linkplain LockRequest#fenced() fenced}
	 */
	default boolean isFenced() {
		return false;
	}

	/**
	 * Have the release of this lease take effect at once, even within its
	 * {@code minHold}, so that failed work can be repeated. Does not release the lease.
	 * Annotated methods, {@code withLock} and its variants call this method if their code
	 * fails or is cancelled. Has no effect on a nested lease, which has no
	 * {@code minHold}.
	 */
	default void waiveMinHold() {
	}

}
