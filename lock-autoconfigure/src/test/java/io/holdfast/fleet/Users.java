package io.holdfast.fleet;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

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
import io.holdfast.engine.store.Resource;

/**
 * Tasks of many threads: acquire, hold for a moment and release, repeatedly, and note the
 * holds.
 */
final class Users {

	/** Longest time between two rounds, and longest time of a hold. */
	private static final int MOMENT = (int) TimeUnit.MILLISECONDS.toNanos(2);

	private Users() {
	}

	/**
	 * Uses of a lock.
	 * @param rounds number of holds
	 */
	static Crowd.Task of(LockService locks, LockRequest request, int rounds, Diary diary) {
		return () -> {
			Random random = new Random();
			int permits = (request.mode() == LockMode.EXCLUSIVE) ? Resource.ALL : 1;
			for (int i = 0; i < rounds;) {
				Optional<LockLease> lease = locks.tryAcquire(request);
				long from = System.nanoTime();
				if (lease.isPresent()) {
					hold(lease.get(), new Hold(permits, lease.get().fencingToken(), from, Long.MAX_VALUE), diary,
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
	 * Uses of several keys at once, a random set each time.
	 * @param all a request for all keys
	 * @param rounds number of holds
	 * @param diaries the diary of each key
	 */
	static Crowd.Task ofSome(LockService locks, LockRequest all, int rounds, Function<String, Diary> diaries) {
		return () -> {
			Random random = new Random();
			List<String> keys = new ArrayList<>(all.keys());
			for (int i = 0; i < rounds; i++) {
				Collections.shuffle(keys, random);
				List<String> some = keys.subList(0, 1 + random.nextInt(Math.min(4, keys.size())));
				LockRequest request = LockRequest.ofAll(some).waitTime(all.waitTime()).mode(all.mode());
				LockLease lease = locks.acquire(request);
				long from = System.nanoTime();
				pause(random);
				lease.ensureHeld();
				long until = System.nanoTime();
				if (lease.release() != ReleaseResult.RELEASED) {
					throw new AssertionError("Not released: " + lease);
				}
				int permits = (all.mode() == LockMode.EXCLUSIVE) ? Resource.ALL : 1;
				lease.keys()
					.forEach(
							(key) -> diaries.apply(key).ended(new Hold(permits, lease.fencingToken(key), from, until)));
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
				Optional<PermitLease> lease = tryAcquire(semaphores, request);
				long from = System.nanoTime();
				if (lease.isPresent()) {
					hold(lease.get(), new Hold(lease.get().permits(), 0, from, Long.MAX_VALUE), diary, random);
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
	 * Record of the uses of many threads.
	 */
	interface Diary {

		/** Note the start of a hold, whose end is not yet known. */
		void began(Hold hold);

		/** The same ends. */
		void ended(Hold hold);

		/** Note that no lease was granted within the wait. */
		void refused();

	}

}
