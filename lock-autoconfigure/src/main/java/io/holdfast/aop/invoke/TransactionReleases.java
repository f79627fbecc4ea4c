package io.holdfast.aop.invoke;

import java.util.Deque;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.function.Supplier;

import io.holdfast.LeaseLostException;
import org.jspecify.annotations.Nullable;

import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Releases leases when the transaction is completed in which they were acquired, after
 * all else that waits for its completion. Needs spring-tx.
 */
public final class TransactionReleases implements TransactionSynchronization {

	private final Leases leases;

	private TransactionReleases(Leases leases) {
		this.leases = leases;
		leases.registeredLast = this;
	}

	/**
	 * Return whether the current thread is in a transaction whose completion can be
	 * waited for.
	 * @return whether it is
	 */
	public static boolean arePossible() {
		return TransactionSynchronizationManager.isActualTransactionActive()
				&& TransactionSynchronizationManager.isSynchronizationActive();
	}

	/**
	 * Put something into the transaction of the current thread.
	 * @param part what is held
	 */
	public static void add(Part part) {
		leases().innermostFirst.push(part);
	}

	/**
	 * Return the only part of a type in the transaction of the current thread.
	 * @param type the type
	 * @param supplier makes it for the first call
	 * @return what is held
	 */
	static <P extends Part> P part(Class<P> type, Supplier<P> supplier) {
		Leases leases = leases();
		return leases.innermostFirst.stream().filter(type::isInstance).map(type::cast).findFirst().orElseGet(() -> {
			P first = supplier.get();
			leases.innermostFirst.push(first);
			return first;
		});
	}

	private static Leases leases() {
		for (TransactionSynchronization each : TransactionSynchronizationManager.getSynchronizations()) {
			if (each instanceof TransactionReleases releases) {
				return releases.leases;
			}
		}
		TransactionReleases first = new TransactionReleases(new Leases());
		TransactionSynchronizationManager.registerSynchronization(first);
		return first.leases;
	}

	@Override
	public void beforeCommit(boolean readOnly) {
		this.leases.innermostFirst.forEach(Part::checkBeforeCommit);
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
		if (this == this.leases.registeredLast && TransactionSynchronizationManager.isSynchronizationActive()) {
			TransactionSynchronizationManager.registerSynchronization(new TransactionReleases(this.leases));
		}
	}

	@Override
	public void afterCompletion(int status) {
		if (this == this.leases.registeredLast) {
			this.leases.innermostFirst.forEach(Part::release);
		}
	}

	/**
	 * A lease that is held until the transaction is completed.
	 */
	public interface Part {

		/**
		 * Check that the transaction may be committed. May block.
		 * @throws LeaseLostException if a lease was lost and that is not only to be
		 * notified of
		 */
		void checkBeforeCommit();

		/**
		 * Release it, as the transaction is completed. May block; throws nothing.
		 */
		void release();

	}

	/**
	 * The leases of one transaction.
	 */
	private static final class Leases {

		private final Deque<Part> innermostFirst = new ConcurrentLinkedDeque<>();

		/** The synchronization that was registered last. */
		private volatile @Nullable TransactionReleases registeredLast;

	}

}
