package io.holdfast.aop;

import java.util.Deque;
import java.util.concurrent.ConcurrentLinkedDeque;

import org.jspecify.annotations.Nullable;

import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Releases leases when the transaction is completed in which they were acquired, after
 * all else that waits for its completion. The only class that needs spring-tx.
 */
final class TransactionReleases implements TransactionSynchronization {

	private final Leases leases;

	private TransactionReleases(Leases leases) {
		this.leases = leases;
		leases.last = this;
	}

	/**
	 * Whether the current thread is in a transaction whose completion can be waited for.
	 * @return whether it is
	 */
	static boolean arePossible() {
		return TransactionSynchronizationManager.isActualTransactionActive()
				&& TransactionSynchronizationManager.isSynchronizationActive();
	}

	/**
	 * Put a lease into the transaction of the current thread.
	 * @param lease the lease
	 */
	static void add(AcquiredLease lease) {
		for (TransactionSynchronization each : TransactionSynchronizationManager.getSynchronizations()) {
			if (each instanceof TransactionReleases releases) {
				releases.leases.innermostFirst.push(lease);
				return;
			}
		}
		Leases leases = new Leases();
		leases.innermostFirst.push(lease);
		TransactionSynchronizationManager.registerSynchronization(new TransactionReleases(leases));
	}

	@Override
	public void beforeCommit(boolean readOnly) {
		this.leases.innermostFirst.forEach(AcquiredLease::checkBeforeCommit);
	}

	@Override
	public void beforeCompletion() {
		comeLast();
	}

	@Override
	public void afterCommit() {
		comeLast();
	}

	/** What was registered meanwhile would come after this, and without the locks. */
	private void comeLast() {
		if (this == this.leases.last && TransactionSynchronizationManager.isSynchronizationActive()) {
			TransactionSynchronizationManager.registerSynchronization(new TransactionReleases(this.leases));
		}
	}

	@Override
	public void afterCompletion(int status) {
		if (this == this.leases.last) {
			this.leases.innermostFirst.forEach(AcquiredLease::release);
		}
	}

	/**
	 * The leases of one transaction.
	 */
	private static final class Leases {

		private final Deque<AcquiredLease> innermostFirst = new ConcurrentLinkedDeque<>();

		/** The one that was registered last. */
		private volatile @Nullable TransactionReleases last;

	}

}
