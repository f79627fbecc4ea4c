package io.holdfast;

import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;

import io.holdfast.async.FencedLease;
import org.jspecify.annotations.Nullable;

/**
 * Runs code under a lease that was acquired for the code. Releases the lease after the
 * code, or leaves it to the surrounding transaction.
 */
final class LeasedCalls {

	private static final List<TransactionBinding> TRANSACTIONS = ServiceLoader
		.load(TransactionBinding.class, LeasedCalls.class.getClassLoader())
		.stream()
		.map(ServiceLoader.Provider::get)
		.toList();

	private LeasedCalls() {
	}

	static <T extends @Nullable Object, E extends Throwable> T call(Lease lease, boolean inTransaction,
			LeasedCall<T, E> call) throws E {
		LeaseContext.Scope scope = LeaseContext.current().with(lease).open();
		TransactionBinding.Participation transaction = null;
		boolean returned = false;
		try {
			transaction = inTransaction ? joinTransaction() : null;
			T value = call.call();
			checkRefusal(lease);
			returned = true;
			return value;
		}
		finally {
			scope.close();
			if (!returned) {
				failed(lease);
			}
			if (transaction == null || !transaction.tryLeave(lease)) {
				lease.close();
			}
		}
	}

	/**
	 * Fail the call if a database has refused one of its transactions, even if the code
	 * has caught the exception.
	 */
	private static void checkRefusal(Lease lease) {
		String refusal = (lease instanceof FencedLease fenced) ? fenced.refusal() : null;
		if (refusal != null) {
			throw new LeaseLostException(lease.key(), refusal);
		}
	}

	/** Waive the minHold of a lock whose code has failed. */
	static void failed(Lease lease) {
		if (lease instanceof LockLease lock) {
			lock.waiveMinHold();
		}
	}

	/** Return an action as a call with a result. */
	static <E extends Throwable> LeasedCall<Boolean, E> callOf(LeasedAction<E> action) {
		return () -> {
			action.run();
			return true;
		};
	}

	static <T extends @Nullable Object, E extends Throwable> LeasedResult<T> callIfAcquired(
			Optional<? extends Lease> lease, boolean inTransaction, LeasedCall<T, E> call) throws E {
		return lease.isPresent() ? LeasedResult.of(call(lease.get(), inTransaction, call)) : LeasedResult.notAcquired();
	}

	/** Return the leases of the current thread and its transaction. */
	static LeaseContext currentContext() {
		TransactionBinding.Participation transaction = joinTransaction();
		return (transaction != null) ? LeaseContext.current().within(transaction) : LeaseContext.current();
	}

	/** Join the current thread's transaction, or return {@code null} if there is none. */
	static TransactionBinding.@Nullable Participation joinTransaction() {
		for (TransactionBinding binding : TRANSACTIONS) {
			TransactionBinding.Participation joined = binding.join();
			if (joined != null) {
				return joined;
			}
		}
		return null;
	}

}
