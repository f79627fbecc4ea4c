package io.holdfast.aop;

import io.holdfast.TransactionBinding;
import org.jspecify.annotations.Nullable;

import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;

/**
 * Spring's transactions, which keep the leases that are acquired in them.
 */
public final class SpringTransactionBinding implements TransactionBinding {

	/** Applications without transactions need no spring-tx. */
	static final boolean POSSIBLE = ClassUtils.isPresent(
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
	static @Nullable TransactionShare current() {
		return (POSSIBLE && TransactionSynchronizationManager.isActualTransactionActive()
				&& TransactionSynchronizationManager.isSynchronizationActive()) ? Releases.share() : null;
	}

	/**
	 * Releases leases when the transaction is completed in which they were acquired,
	 * after all else that waits for its completion. Needs spring-tx.
	 */
	private static final class Releases implements TransactionSynchronization {

		private final TransactionShare share;

		/** Whether the share was bound to the thread before the suspension. */
		private boolean bound;

		/** Whether another one was registered behind this. */
		private boolean replaced;

		Releases(TransactionShare share) {
			this.share = share;
		}

		/**
		 * Return the leases of the transaction that the current thread is in. They are
		 * bound to the thread, as Spring sorts all synchronizations for each look at
		 * them, and an application may register thousands.
		 */
		static TransactionShare share() {
			if (TransactionSynchronizationManager.getResource(Releases.class) instanceof TransactionShare bound) {
				return bound;
			}
			for (TransactionSynchronization each : TransactionSynchronizationManager.getSynchronizations()) {
				if (each instanceof Releases releases) {
					return releases.share;
				}
			}
			Releases first = new Releases(new TransactionShare());
			TransactionSynchronizationManager.registerSynchronization(first);
			TransactionSynchronizationManager.bindResource(Releases.class, first.share);
			return first.share;
		}

		@Override
		public void suspend() {
			this.bound = TransactionSynchronizationManager.unbindResourceIfPossible(Releases.class) != null;
		}

		@Override
		public void resume() {
			if (this.bound) {
				TransactionSynchronizationManager.bindResource(Releases.class, this.share);
			}
		}

		@Override
		public void beforeCommit(boolean readOnly) {
			this.share.checkBeforeCommit();
		}

		/** Of JTA, the completion may come on another thread. */
		@Override
		public void beforeCompletion() {
			TransactionSynchronizationManager.unbindResourceIfPossible(Releases.class);
			comeLast();
		}

		@Override
		public void afterCommit() {
			comeLast();
		}

		/**
		 * Move this behind later registrations, which would run without the locks.
		 */
		private void comeLast() {
			if (!this.replaced && TransactionSynchronizationManager.isSynchronizationActive()) {
				this.replaced = true;
				TransactionSynchronizationManager.registerSynchronization(new Releases(this.share));
			}
		}

		@Override
		public void afterCompletion(int status) {
			if (!this.replaced) {
				this.share.release(status == STATUS_ROLLED_BACK);
			}
		}

	}

}
