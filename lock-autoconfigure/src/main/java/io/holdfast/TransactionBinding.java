package io.holdfast;

import java.util.function.Predicate;

import org.jspecify.annotations.Nullable;

/**
 * A kind of transactions in which leases can be held. Found by
 * {@link java.util.ServiceLoader}. Holdfast has one for Spring's transactions;
 * applications need not implement it. Thread-safe.
 *
 * @since 0.1.0
 */
public interface TransactionBinding {

	/**
	 * Join the transaction of the current thread.
	 * @return what to ask for a lease whose code has ended: {@code true} if the
	 * transaction releases it, {@code false} if the caller is to release it now, as the
	 * transaction is completed or the lease not held any more. {@code null} if there is
	 * no transaction
	 */
	@Nullable Predicate<Lease> join();

}
