package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.LockView;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Many threads that want a few keys for a moment and often give up.
 */
@WithRedis
class MassTests {

	private static final int THREADS = 64;

	private static final Duration DURATION = Duration.ofSeconds(3);

	/** Generous, as many more threads than processors take part. */
	private static final Duration LATE = Duration.ofSeconds(2);

	private final List<Room> rooms = List.of(new Room("first"), new Room("second"));

	private final List<Thread> threads = new CopyOnWriteArrayList<>();

	private final AtomicInteger timedOut = new AtomicInteger();

	private final AtomicInteger interrupted = new AtomicInteger();

	private final AtomicInteger cancelled = new AtomicInteger();

	private final AtomicInteger unanswered = new AtomicInteger();

	private final AtomicLong latest = new AtomicLong();

	@Test
	@DisplayName("64 threads of 2 contexts wait shortly, cancel and are interrupted: exclusion holds, no wait is late,"
			+ " nothing is left")
	void crowded(TestRedis redis) throws Exception {
		long seed = System.nanoTime();
		try (Fleet fleet = new Fleet(redis)) {
			List<LockService> contexts = fleet.start(2);
			AtomicInteger seeds = new AtomicInteger();
			long end = System.nanoTime() + DURATION.toNanos();
			new Crowd().add(THREADS, () -> {
				this.threads.add(Thread.currentThread());
				int number = seeds.incrementAndGet();
				Random random = new Random(seed + number);
				while (System.nanoTime() - end < 0) {
					act(contexts.get(number % contexts.size()), random);
					Thread.interrupted();
				}
			}).add(1, () -> {
				Random random = new Random(seed);
				while (System.nanoTime() - end < 0) {
					if (!this.threads.isEmpty()) {
						this.threads.get(random.nextInt(this.threads.size())).interrupt();
					}
					LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
				}
			}).run();
			fleet.awaitNothingLeft();
		}
		for (Room room : this.rooms) {
			assertThat(room.troubles).as("seed %s", seed).isEmpty();
			assertThat(room.visits).as("visits, counted without a guard").isEqualTo(room.granted.get()).isPositive();
		}
		assertThat(this.timedOut).as("timed out").hasPositiveValue();
		assertThat(this.interrupted).as("interrupted").hasPositiveValue();
		assertThat(this.cancelled).as("cancelled").hasPositiveValue();
		assertThat(this.unanswered).as("not answered in time").hasValueLessThan(this.timedOut.get());
		assertThat(Duration.ofNanos(this.latest.get())).as("longest time over a deadline").isLessThan(LATE);
	}

	@Test
	@DisplayName("F21 300 keys that are held and waited for cost no channel each; given up, they leave their fences,"
			+ " which expire")
	void manyKeys(TestRedis redis) {
		try (Fleet fleet = new Fleet(redis)) {
			LockService holder = fleet.start();
			LockService waiter = fleet.start();
			List<LockLease> leases = new ArrayList<>();
			List<CompletableFuture<LockLease>> waits = new ArrayList<>();
			for (int i = 0; i < 300; i++) {
				LockRequest request = LockRequest.of("key" + i).waitTime(Fleet.PATIENCE);
				leases.add(holder.acquire(request));
				waits.add(waiter.acquireAsync(request));
			}
			fleet.awaitWaiting("key299", 1);
			assertThat(fleet.keys()).as("locks, queues and fences").hasSize(3 * 300);
			assertThat(fleet.channels()).hasSize(2);
			waits.subList(0, 150).forEach((wait) -> wait.cancel(true));
			leases.forEach(LockLease::close);
			waits.subList(150, 300).forEach((wait) -> wait.join().close());
			fleet.awaitNothingLeft();
			assertThat(fleet.keys()).as("fences").hasSize(300);
		}
	}

	private void act(LockService locks, Random random) {
		Room room = this.rooms.get(random.nextInt(this.rooms.size()));
		Duration wait = Duration.ofMillis(random.nextInt(80));
		LockRequest request = LockRequest.of(room.key).waitTime(wait);
		try {
			switch (random.nextInt(4)) {
				case 0 -> tryAcquire(locks, room, request, wait);
				case 1 -> tryLock(locks.asLock(room.key), room, wait);
				case 2 -> cancel(locks.acquireAsync(request), room, random);
				default -> continueWith(locks.acquireAsync(request), room, wait);
			}
		}
		catch (LeaseStoreException ex) {
			// So short a wait may be over before Redis has answered at all.
			this.unanswered.incrementAndGet();
		}
	}

	private void tryAcquire(LockService locks, Room room, LockRequest request, Duration wait) {
		long from = System.nanoTime();
		try {
			Optional<LockLease> lease = locks.tryAcquire(request);
			noteEnd(from, wait);
			lease.ifPresentOrElse(room::visit, this.timedOut::incrementAndGet);
		}
		catch (LockNotAcquiredException ex) {
			assertThat(ex.getReason()).isEqualTo(Reason.INTERRUPTED);
			assertThat(Thread.interrupted()).as("interrupt flag").isTrue();
			noteEnd(from, wait);
			this.interrupted.incrementAndGet();
		}
	}

	private void tryLock(LockView lock, Room room, Duration wait) {
		long from = System.nanoTime();
		try {
			boolean locked = lock.tryLock(wait.toMillis(), TimeUnit.MILLISECONDS);
			noteEnd(from, wait);
			if (locked) {
				room.visit(lock::unlock);
			}
			else {
				this.timedOut.incrementAndGet();
			}
		}
		catch (InterruptedException ex) {
			noteEnd(from, wait);
			this.interrupted.incrementAndGet();
		}
	}

	private void cancel(CompletableFuture<LockLease> future, Room room, Random random) {
		LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(random.nextInt(40)));
		if (future.cancel(true)) {
			this.cancelled.incrementAndGet();
		}
		else {
			visitIfGranted(future, room);
		}
	}

	private void continueWith(CompletableFuture<LockLease> future, Room room, Duration wait) {
		long from = System.nanoTime();
		visitIfGranted(future.whenComplete((lease, error) -> noteEnd(from, wait)), room);
	}

	private void visitIfGranted(CompletableFuture<LockLease> future, Room room) {
		try {
			room.visit(future.join());
		}
		catch (CompletionException ex) {
			if (ex.getCause() instanceof LeaseStoreException cause) {
				throw cause;
			}
			assertThat(ex.getCause()).isInstanceOf(LockNotAcquiredException.class);
			this.timedOut.incrementAndGet();
		}
	}

	private void noteEnd(long from, Duration wait) {
		this.latest.accumulateAndGet(System.nanoTime() - from - wait.toNanos(), Math::max);
	}

	/**
	 * Where only the holder of the key may be.
	 */
	private static final class Room {

		final String key;

		final AtomicInteger granted = new AtomicInteger();

		final List<String> troubles = new CopyOnWriteArrayList<>();

		private final AtomicInteger inside = new AtomicInteger();

		/** Not atomic, on purpose. */
		volatile int visits;

		private volatile long lastFence;

		Room(String key) {
			this.key = key;
		}

		void visit(LockLease lease) {
			visit(() -> {
				if (lease.fencingToken() <= this.lastFence) {
					this.troubles.add("fence " + lease.fencingToken() + " after " + this.lastFence);
				}
				this.lastFence = lease.fencingToken();
				ReleaseResult result = lease.release();
				if (result != ReleaseResult.RELEASED) {
					this.troubles.add("release found " + result);
				}
			});
		}

		void visit(Runnable leave) {
			this.granted.incrementAndGet();
			if (this.inside.incrementAndGet() != 1) {
				this.troubles.add("two inside");
			}
			int before = this.visits;
			Thread.yield();
			this.visits = before + 1;
			this.inside.decrementAndGet();
			leave.run();
		}

	}

}
