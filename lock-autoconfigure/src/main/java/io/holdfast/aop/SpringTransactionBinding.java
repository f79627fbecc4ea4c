package io.holdfast.aop;

import io.holdfast.TransactionBinding;
import org.jspecify.annotations.Nullable;

import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;

/**
 * Binding of leases to Spring's transactions of a thread.
 */
public final class SpringTransactionBinding implements TransactionBinding {

	/** Whether spring-tx is present. */
	static final boolean POSSIBLE = ClassUtils.isPresent(
			"org.springframework.transaction.support.TransactionSynchronizationManager",
			SpringTransactionBinding.class.getClassLoader());

	@Override
	public @Nullable Participation join() {
		return current();
	}

	/**
	 * Join the transaction of the current thread.
	 * @return the share of the transaction, or {@code null} if there is no transaction
	 * with synchronization. While a transaction is suspended without another transaction,
	 * a share that keeps no leases
	 */
	static @Nullable TransactionShare current() {
		if (!POSSIBLE) {
			return null;
		}
		return (TransactionSynchronizationManager.isActualTransactionActive()
				&& TransactionSynchronizationManager.isSynchronizationActive()) ? Releases.share() : TransactionShare
					.outside((TransactionShare) TransactionSynchronizationManager.getResource(TransactionShare.class));
	}

	/**
	 * Releases the leases of a transaction after its completion, behind all other
	 * synchronizations. Needs spring-tx.
	 */
	private static final class Releases implements TransactionSynchronization {

		private final TransactionShare share;

		/** Whether a replacement was registered behind this synchronization. */
		private boolean replaced;

		Releases(TransactionShare share) {
			this.share = share;
		}

		/**
		 * Return the share of the current thread's transaction. The share is bound as a
		 * resource, because Spring sorts all synchronizations, of which there may be
		 * thousands, for each access to them.
		 */
		static TransactionShare share() {
			TransactionShare bound = (TransactionShare) TransactionSynchronizationManager
				.getResource(TransactionShare.class);
			if (bound != null && bound.isCompleted()) {
				// Completed on another thread.
				TransactionSynchronizationManager.unbindResource(TransactionShare.class);
				bound = null;
			}
			if (bound != null && !bound.suspended) {
				return bound;
			}
			for (TransactionSynchronization synchronization : TransactionSynchronizationManager.getSynchronizations()) {
				if (synchronization instanceof Releases releases) {
					return releases.share;
				}
			}
			Releases first = new Releases(new TransactionShare(bound));
			TransactionSynchronizationManager.registerSynchronization(first);
			bind(first.share);
			return first.share;
		}

		private static void bind(@Nullable TransactionShare next) {
			TransactionSynchronizationManager.unbindResourceIfPossible(TransactionShare.class);
			if (next != null) {
				TransactionSynchronizationManager.bindResource(TransactionShare.class, next);
			}
		}

		/**
		 * Bind the share for the next transaction, whose calls are nested in its leases.
		 */
		@Override
		public void suspend() {
			this.share.suspended = true;
			bind(this.share);
		}

		@Override
		public void resume() {
			this.share.suspended = false;
			bind(this.share);
		}

		@Override
		public void beforeCommit(boolean readOnly) {
			this.share.checkBeforeCommit();
		}

		/**
		 * Unbind the share before the completion, which with JTA may come on another
		 * thread. The next call may be in a transaction between this one and that of the
		 * outer share.
		 */
		@Override
		public void beforeCompletion() {
			bind(this.share.outer);
			moveToEnd();
		}

		@Override
		public void afterCommit() {
			moveToEnd();
		}

		/**
		 * Move this synchronization behind later ones, which would otherwise run without
		 * the locks.
		 */
		private void moveToEnd() {
			if (!this.replaced && TransactionSynchronizationManager.isSynchronizationActive()) {
				this.replaced = true;
				TransactionSynchronizationManager.registerSynchronization(new Releases(this.share));
			}
		}

		@Override
		public void afterCompletion(int status) {
			// Bound again if a callback acquired the first lock of the transaction.
			if (TransactionSynchronizationManager.getResource(TransactionShare.class) == this.share) {
				bind(this.share.outer);
			}
			if (!this.replaced) {
				this.share.release(status == STATUS_ROLLED_BACK);
			}
		}

	}

}
