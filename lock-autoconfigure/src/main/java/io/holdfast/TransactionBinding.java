package io.holdfast;

import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * A kind of transactions in which leases can be held. Found by
 * {@link java.util.ServiceLoader}. Holdfast has one for Spring's transactions;
 * applications need not implement it. Thread-safe.
 */
public interface TransactionBinding {

	/**
	 * Join the transaction of the current thread.
	 * @return the part that calls take in the transaction, or {@code null} if there is no
	 * transaction
	 */
	@Nullable Participation join();

	/**
	 * The part that calls take in a transaction.
	 */
	interface Participation {

		/**
		 * Return leases of a lock that calls of the transaction have left: the next call
		 * runs under them, or it would wait for the transaction, which waits for it.
		 * @param key the key of the lock, with its namespace
		 * @return a lease for each grant of the store, none of which is released
		 */
		List<Lease> leases(String key);

		/**
		 * Leave a lease whose code has ended to the transaction, which then releases it
		 * when it is completed.
		 * @param lease the lease
		 * @return {@code false} if the caller is to release it now, as the transaction is
		 * completed or the lease not held any more
		 */
		boolean tryLeave(Lease lease);

	}

}
