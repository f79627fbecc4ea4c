package io.holdfast;

import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;

import io.holdfast.async.FencedLease;
import org.jspecify.annotations.Nullable;

/**
 * Runs code under a lease that was acquired for it, and releases the lease when the code
 * has ended, or with the transaction around it.
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
	 * A refused transaction fails its call, also if the code has caught the exception.
	 */
	private static void checkRefusal(Lease lease) {
		String refusal = (lease instanceof FencedLease fenced) ? fenced.refusal() : null;
		if (refusal != null) {
			throw new LeaseLostException(lease.key(), refusal);
		}
	}

	/** Note the failure of code under a lease: the minHold of a lock does not count. */
	static void failed(Lease lease) {
		if (lease instanceof LockLease lock) {
			lock.waiveMinHold();
		}
	}

	static <E extends Throwable> void run(Lease lease, boolean inTransaction, LeasedAction<E> action) throws E {
		LeasedCalls.<Boolean, E>call(lease, inTransaction, () -> {
			action.run();
			return true;
		});
	}

	static <T extends @Nullable Object, E extends Throwable> LeasedResult<T> callIfAcquired(
			Optional<? extends Lease> lease, boolean inTransaction, LeasedCall<T, E> call) throws E {
		return lease.isPresent() ? LeasedResult.of(call(lease.get(), inTransaction, call)) : LeasedResult.notAcquired();
	}

	static <E extends Throwable> boolean runIfAcquired(Optional<? extends Lease> lease, boolean inTransaction,
			LeasedAction<E> action) throws E {
		if (lease.isPresent()) {
			run(lease.get(), inTransaction, action);
		}
		return lease.isPresent();
	}

	/** Return the leases of the current thread and its transaction. */
	static LeaseContext currentContext() {
		TransactionBinding.Participation transaction = joinTransaction();
		return (transaction != null) ? LeaseContext.current().within(transaction) : LeaseContext.current();
	}

	/** Return {@code null} if the current thread is in no transaction. */
	static TransactionBinding.@Nullable Participation joinTransaction() {
		for (TransactionBinding each : TRANSACTIONS) {
			TransactionBinding.Participation joined = each.join();
			if (joined != null) {
				return joined;
			}
		}
		return null;
	}

}
