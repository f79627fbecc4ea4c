package io.holdfast.fleet;

import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import io.holdfast.Lease;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitLease;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.engine.Resource;

/**
 * What many threads do at the same time: acquire, hold for a moment and release, again
 * and again, and write down what they held.
 */
final class Users {

	/** Longest time between two rounds, and longest time of a hold. */
	private static final int MOMENT = (int) TimeUnit.MILLISECONDS.toNanos(2);

	private Users() {
	}

	/**
	 * Uses of a lock.
	 * @param rounds how often it is to be held
	 */
	static Crowd.Task of(LockService locks, LockRequest request, int rounds, Diary diary) {
		return () -> {
			Random random = new Random();
			int permits = (request.mode() == LockMode.WRITE) ? Resource.ALL : 1;
			for (int i = 0; i < rounds;) {
				long asked = System.nanoTime();
				Optional<LockLease> lease = locks.tryAcquire(request);
				long from = System.nanoTime();
				if (lease.isPresent()) {
					hold(lease.get(), new Hold(permits, lease.get().fence(), asked, from, Long.MAX_VALUE), diary,
							random);
					i++;
				}
				else {
					diary.refused();
				}
				pause(random);
			}
		};
	}

	/**
	 * Uses of a semaphore, each of some permits.
	 * @param most a request for as many permits as are acquired at most
	 * @param rounds how often permits are to be held
	 */
	static Crowd.Task of(SemaphoreService semaphores, SemaphoreRequest most, int rounds, Diary diary) {
		return () -> {
			Random random = new Random();
			for (int i = 0; i < rounds;) {
				SemaphoreRequest request = most.permits(1 + random.nextInt(most.permits()));
				long asked = System.nanoTime();
				Optional<PermitLease> lease = tryAcquire(semaphores, request);
				long from = System.nanoTime();
				if (lease.isPresent()) {
					hold(lease.get(), new Hold(lease.get().permits(), 0, asked, from, Long.MAX_VALUE), diary, random);
					i++;
				}
				else {
					diary.refused();
				}
				pause(random);
			}
		};
	}

	private static Optional<PermitLease> tryAcquire(SemaphoreService semaphores, SemaphoreRequest request) {
		try {
			return semaphores.tryAcquire(request);
		}
		catch (PermitNotAcquiredException ex) {
			if (ex.getReason() != Reason.EXCEEDS_LIMIT) {
				throw ex;
			}
			// An operator has set a lower limit for now.
			return Optional.empty();
		}
	}

	private static void hold(Lease lease, Hold hold, Diary diary, Random random) {
		diary.began(hold);
		pause(random);
		lease.ensureHeld();
		diary.ended(hold.until(System.nanoTime()));
		ReleaseResult result = lease.release();
		if (result != ReleaseResult.RELEASED) {
			throw new AssertionError("The release of " + hold + " found " + result);
		}
	}

	private static void pause(Random random) {
		LockSupport.parkNanos(random.nextInt(MOMENT));
	}

	/**
	 * Where uses are written down, by many threads.
	 */
	interface Diary {

		/** Something is held from now on, and its end is not known yet. */
		void began(Hold hold);

		/** The same ends. */
		void ended(Hold hold);

		/** Nothing was to be had until the wait was over. */
		void refused();

	}

}
