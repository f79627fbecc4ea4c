package io.holdfast.aop.invoke;

import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Releases leases when the transaction is completed in which they were acquired, after
 * all else that waits for its completion. Needs spring-tx.
 */
final class TransactionReleases implements TransactionSynchronization {

	private final TransactionShare share;

	/** Whether another one was registered behind this. */
	private boolean replaced;

	private TransactionReleases(TransactionShare share) {
		this.share = share;
	}

	/** Return the leases of the transaction that the current thread is in. */
	static TransactionShare share() {
		for (TransactionSynchronization each : TransactionSynchronizationManager.getSynchronizations()) {
			if (each instanceof TransactionReleases releases) {
				return releases.share;
			}
		}
		TransactionReleases first = new TransactionReleases(new TransactionShare());
		TransactionSynchronizationManager.registerSynchronization(first);
		return first.share;
	}

	@Override
	public void beforeCommit(boolean readOnly) {
		this.share.checkBeforeCommit();
	}

	@Override
	public void beforeCompletion() {
		comeLast();
	}

	@Override
	public void afterCommit() {
		comeLast();
	}

	/** Move this behind what was registered since, which would run without the locks. */
	private void comeLast() {
		if (!this.replaced && TransactionSynchronizationManager.isSynchronizationActive()) {
			this.replaced = true;
			TransactionSynchronizationManager.registerSynchronization(new TransactionReleases(this.share));
		}
	}

	@Override
	public void afterCompletion(int status) {
		if (!this.replaced) {
			this.share.release(status == STATUS_ROLLED_BACK);
		}
	}

}
