package io.holdfast.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;

import io.holdfast.Lease;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Instances that take turns continually with a lock, all permits of a semaphore, and a
 * key to write: one at a time, or the check fails. Not thread-safe.
 */
final class Load {

	private final List<Turns> turns;

	private final AtomicBoolean goingOn = new AtomicBoolean(true);

	private final List<CompletableFuture<?>> users = new ArrayList<>();

	private final Predicate<LeaseStoreException> tolerated;

	/**
	 * Begin the load.
	 * @param key the prefix of the keys
	 * @param tolerated errors after which a request is repeated
	 * @param instances the instances, each of which uses all resources
	 */
	Load(String key, Predicate<LeaseStoreException> tolerated, Instance... instances) {
		this.tolerated = tolerated;
		this.turns = Stream.of(Pool.values())
			.map((pool) -> new PoolRequest(pool, pool.key(key)).waitTime(Duration.ofMinutes(1)).all())
			.map((request) -> new Turns(request::acquire))
			.toList();
		for (Instance instance : instances) {
			for (Turns each : this.turns) {
				this.users.add(Instance.inBackground(() -> {
					while (this.goingOn.get()) {
						each.take(instance);
					}
					// Once more, without a disturbance.
					each.take(instance);
					return true;
				}));
			}
		}
	}

	/**
	 * Disturb the instances. Returns after some further turns.
	 * @param disturbance the disturbance
	 */
	void awaitMoreAfter(Runnable disturbance) {
		int before = taken();
		disturbance.run();
		await("turns").atMost(SOON).until(() -> taken() > before + 5);
	}

	private int taken() {
		return this.turns.stream().mapToInt((each) -> each.taken.get()).sum();
	}

	/** Allow a last turn each, and check that all turns succeeded. */
	void end() {
		this.goingOn.set(false);
		assertThat(this.users).allSatisfy((user) -> assertThat(user).succeedsWithin(SOON));
	}

	/** Turns of a resource with one user at a time. */
	private final class Turns {

		private final Function<Instance, Lease> acquire;

		private final AtomicInteger inside = new AtomicInteger();

		private final AtomicInteger taken = new AtomicInteger();

		private long fence;

		Turns(Function<Instance, Lease> acquire) {
			this.acquire = acquire;
		}

		void take(Instance instance) {
			try (Lease lease = acquire(instance)) {
				assertThat(this.inside.incrementAndGet()).as("simultaneous users").isEqualTo(1);
				this.taken.incrementAndGet();
				if (lease instanceof LockLease lock) {
					assertThat(lock.fencingToken()).isGreaterThan(this.fence);
					this.fence = lock.fencingToken();
				}
				assertThat(lease.isHeld()).isTrue();
				this.inside.decrementAndGet();
			}
		}

		private Lease acquire(Instance instance) {
			while (true) {
				try {
					return this.acquire.apply(instance);
				}
				catch (LeaseStoreException ex) {
					if (!Load.this.tolerated.test(ex)) {
						throw ex;
					}
				}
			}
		}

	}

}
