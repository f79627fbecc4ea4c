package io.holdfast;

import java.util.List;
import java.util.ServiceLoader;

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
		try {
			transaction = inTransaction ? joinTransaction() : null;
			return call.call();
		}
		finally {
			scope.close();
			if (transaction == null || !transaction.tryLeave(lease)) {
				lease.close();
			}
		}
	}

	static <E extends Throwable> void run(Lease lease, boolean inTransaction, LeasedAction<E> action) throws E {
		LeasedCalls.<Boolean, E>call(lease, inTransaction, () -> {
			action.run();
			return true;
		});
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
