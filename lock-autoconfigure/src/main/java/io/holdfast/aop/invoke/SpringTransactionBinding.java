package io.holdfast.aop.invoke;

import io.holdfast.Lease;
import io.holdfast.TransactionBinding;
import org.jspecify.annotations.Nullable;

import org.springframework.util.ClassUtils;

/**
 * Spring's transactions, in which code holds the leases that it was run with by a
 * service.
 */
public final class SpringTransactionBinding implements TransactionBinding {

	/** Applications without transactions need no spring-tx. */
	private static final boolean POSSIBLE = ClassUtils.isPresent(
			"org.springframework.transaction.support.TransactionSynchronizationManager",
			SpringTransactionBinding.class.getClassLoader());

	@Override
	public @Nullable Participation join() {
		if (!POSSIBLE || !TransactionReleases.arePossible()) {
			return null;
		}
		LeftLease left = new LeftLease();
		TransactionReleases.add(left);
		return left;
	}

	/** The lease of one call, once its code has ended. */
	private static final class LeftLease implements TransactionReleases.Part, Participation {

		/** Guarded by this. */
		private @Nullable Lease lease;

		/** Guarded by this. */
		private boolean completed;

		@Override
		public synchronized boolean tryLeave(Lease ended) {
			if (this.completed || !ended.isHeld()) {
				return false;
			}
			this.lease = ended;
			return true;
		}

		@Override
		public void checkBeforeCommit() {
			// A loss is only notified of.
		}

		@Override
		public void release() {
			Lease left = complete();
			if (left != null) {
				left.close();
			}
		}

		private synchronized @Nullable Lease complete() {
			this.completed = true;
			return this.lease;
		}

	}

}
