package io.holdfast.chaos;

import java.time.Duration;
import java.util.List;
import java.util.Random;

import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.history.Event.Mode;

/**
 * A random plan of a user's next lease.
 *
 * @param mode the mode
 * @param keys the keys, several for locks only
 * @param permits number of permits, of semaphores
 * @param fair whether the request is fair, of semaphores
 * @param face the calls to use
 * @param waitMillis the wait time
 * @param leaseMillis the lease time
 * @param renewal whether leases are renewed
 * @param holdMillis the time to hold the lease
 * @param cancelMillis the time of a cancellation, for some faces
 * @param nested whether to acquire a nested lease
 */
record Wish(Mode mode, List<String> keys, int permits, boolean fair, Face face, int waitMillis, int leaseMillis,
		boolean renewal, int holdMillis, int cancelMillis, boolean nested) {

	static final Duration LONGEST_LEASE = Duration.ofSeconds(4);

	/** Of each semaphore. */
	static final int LIMIT = 4;

	static final List<String> LOCKS = List.of("a", "b", "c");

	static final List<String> SEMAPHORES = List.of("s", "t");

	static Wish random(Random random) {
		// Only requests of equal lease times are handed over.
		int leaseMillis = oneIn(3, random) ? 2500 : (int) LONGEST_LEASE.toMillis();
		int waitMillis = oneIn(5, random) ? 0 : 100 + random.nextInt(4000);
		int holdMillis = oneIn(40, random) ? random.nextInt(3 * leaseMillis) : random.nextInt(30);
		Face face = Face.values()[random.nextInt(Face.values().length)];
		Mode mode = List.of(Mode.EXCLUSIVE, Mode.EXCLUSIVE, Mode.READ, Mode.READ, Mode.PERMITS, Mode.PERMITS)
			.get(random.nextInt(6));
		List<String> keys = List.of(any((mode == Mode.PERMITS) ? SEMAPHORES : LOCKS, random));
		if (mode != Mode.PERMITS && oneIn(10, random)) {
			keys = LOCKS.subList(0, 2);
		}
		return new Wish(mode, keys, 1 + random.nextInt(2), !oneIn(4, random), face, waitMillis, leaseMillis,
				!oneIn(5, random), holdMillis, random.nextInt(1000), oneIn(10, random));
	}

	private static boolean oneIn(int count, Random random) {
		return random.nextInt(count) == 0;
	}

	private static String any(List<String> all, Random random) {
		return all.get(random.nextInt(all.size()));
	}

	/** Return the nested wish, for a short while. */
	Wish again() {
		return new Wish(this.mode, this.keys, this.permits, this.fair, Face.BLOCKING, this.waitMillis, this.leaseMillis,
				this.renewal, 5, 0, false);
	}

	boolean canNest() {
		return this.nested && this.face == Face.BLOCKING && this.mode == Mode.EXCLUSIVE && this.keys.size() == 1;
	}

	LockRequest locks() {
		return LockRequest.ofAll(this.keys).mode(switch (this.mode) {
			case READ -> LockMode.READ;
			default -> LockMode.EXCLUSIVE;
		})
			.waitTime(Duration.ofMillis(this.waitMillis))
			.leaseTime(Duration.ofMillis(this.leaseMillis))
			.autoRenew(this.renewal);
	}

	SemaphoreRequest semaphore() {
		return SemaphoreRequest.of(this.keys.get(0), LIMIT)
			.permits(this.permits)
			.fair(this.fair)
			.waitTime(Duration.ofMillis(this.waitMillis))
			.leaseTime(Duration.ofMillis(this.leaseMillis))
			.autoRenew(this.renewal);
	}

	/** Calls for an acquisition. */
	enum Face {

		BLOCKING, ASYNC, CANCELLED

	}

}
