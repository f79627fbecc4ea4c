package io.holdfast.aop.invoke;

import io.holdfast.TransactionBinding;
import org.jspecify.annotations.Nullable;

import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;

/**
 * Spring's transactions, which keep the leases that are acquired in them.
 */
public final class SpringTransactionBinding implements TransactionBinding {

	/** Applications without transactions need no spring-tx. */
	public static final boolean POSSIBLE = ClassUtils.isPresent(
			"org.springframework.transaction.support.TransactionSynchronizationManager",
			SpringTransactionBinding.class.getClassLoader());

	@Override
	public @Nullable Participation join() {
		return current();
	}

	/**
	 * Join the transaction of the current thread.
	 * @return its leases, or {@code null} if there is no transaction whose completion can
	 * be waited for
	 */
	public static @Nullable TransactionShare current() {
		return (POSSIBLE && TransactionSynchronizationManager.isActualTransactionActive()
				&& TransactionSynchronizationManager.isSynchronizationActive()) ? TransactionReleases.share() : null;
	}

}
