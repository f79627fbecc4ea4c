package io.holdfast;

import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * Binding of leases to one kind of transactions, found by
 * {@link java.util.ServiceLoader}. Holdfast has a binding for Spring's transactions, so
 * that applications need not implement this interface. Thread-safe.
 */
public interface TransactionBinding {

	/**
	 * Join the transaction of the current thread.
	 * @return the participation in the transaction, or {@code null} if the thread is in
	 * no transaction
	 */
	@Nullable Participation join();

	/**
	 * Participation of calls in a transaction, which can keep their leases.
	 */
	interface Participation {

		/**
		 * Return the leases of a lock that the transaction keeps. A later call in the
		 * transaction must be nested in them: otherwise the call would wait for the
		 * transaction, and the transaction for the call.
		 * @param key the key of the lock, with its namespace
		 * @return one unreleased lease for each grant of the store
		 */
		List<Lease> leases(String key);

		/**
		 * Hand a lease whose code has ended over to the transaction, which releases the
		 * lease when it is completed.
		 * @param lease the lease
		 * @return {@code false} if the caller must release the lease now, because the
		 * transaction is already completed or the lease is no longer held
		 */
		boolean tryLeave(Lease lease);

	}

}
