package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.engine.store.Resource;
import io.holdfast.testing.Slow;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Many readers and writers of 3 contexts and 2 JVMs, some of which are killed.
 */
@Slow
class ReadWriteCrowdTests extends FleetTestCase {

	private static final int ROUNDS = 25;

	private static final Duration LEASE = Duration.ofMillis(1200);

	private static List<LockService> contexts;

	private static List<Worker> workers;

	/** To be killed. */
	private static Worker reader;

	@BeforeAll
	static void start() {
		workers = fleet.startMixedWorkers(2);
		reader = fleet.startWorker();
		List.of(workers.get(0), workers.get(1), reader).forEach(Worker::awaitReady);
		contexts = fleet.startMixed(3);
	}

	@Test
	@DisplayName("Many readers or one writer at any moment, over contexts and JVMs; fences grow with every writer; all"
			+ " requests are served")
	void readersOrWriter() throws Exception {
		Notes notes = new Notes();
		Crowd crowd = new Crowd();
		LockRequest reading = read("crowd");
		LockRequest writing = write("crowd");
		for (Worker worker : workers) {
			worker.use("crowd", reading, 4, ROUNDS);
			worker.use("crowd-writing", writing, 2, ROUNDS);
		}
		for (LockService locks : contexts) {
			crowd.add(4, Users.of(locks, reading, ROUNDS, notes)).add(2, Users.of(locks, writing, ROUNDS, notes));
		}
		crowd.run();
		List<Hold> holds = new ArrayList<>(notes.holds());
		for (Worker worker : workers) {
			worker.awaitUsed("crowd");
			worker.awaitUsed("crowd-writing");
			holds.addAll(worker.holds("crowd"));
			holds.addAll(worker.holds("crowd-writing"));
		}
		assertThat(holds).hasSize(5 * (4 + 2) * ROUNDS);
		assertThat(Overlaps.assertWithin(holds, Resource.ALL)).as("a writer's").isEqualTo(Resource.ALL);
		List<Hold> readers = holds.stream().filter((hold) -> hold.permits() == 1).toList();
		assertThat(Overlaps.highest(readers)).as("simultaneous readers").isGreaterThan(3);
		List<Hold> writers = holds.stream().filter((hold) -> hold.permits() > 1).toList();
		Hold.assertExclusive(writers);
		for (Hold one : writers) {
			assertThat(readers).as("fences before and after %s", one)
				.allMatch((hold) -> (hold.from() > one.until()) ? hold.fence() > one.fence()
						: hold.fence() < one.fence());
		}
		assertThat(notes.refusals()).isZero();
	}

	@ParameterizedTest
	@CsvSource({ "READ, EXCLUSIVE", "EXCLUSIVE, READ" })
	@DisplayName("No request starves in a mode of a key beside a stream of requests in another mode")
	void oneOrderOverModes(LockMode few, LockMode many) throws Exception {
		String key = "modes-" + few + "-" + many;
		AtomicBoolean done = new AtomicBoolean();
		AtomicInteger turns = new AtomicInteger();
		Crowd crowd = new Crowd();
		for (LockService locks : contexts) {
			crowd.add(3, () -> {
				while (!done.get()) {
					locks.acquire(LockRequest.of(key).mode(many).waitTime(Fleet.PATIENCE)).close();
					turns.incrementAndGet();
				}
			});
		}
		crowd.add(1, () -> {
			try {
				await(many + " turns").atMost(Fleet.PATIENCE).until(() -> turns.get() > 10);
				for (int i = 0; i < 10; i++) {
					int before = turns.get();
					contexts.get(i % contexts.size())
						.acquire(LockRequest.of(key).mode(few).waitTime(Fleet.PROMPT))
						.close();
					await(many + " turns").atMost(Fleet.PATIENCE).until(() -> turns.get() > before);
				}
			}
			finally {
				done.set(true);
			}
		});
		crowd.run();
	}

	@Test
	@DisplayName("F1 A waiting reader is killed: the next reader has its turn among many exclusive requests")
	void waitingReaderKilled() throws Exception {
		Worker dead = fleet.startWorker();
		dead.awaitReady();
		LockRequest exclusive = LockRequest.of("waiting").waitTime(Fleet.PATIENCE);
		LockLease first = contexts.get(0).acquire(exclusive);
		dead.acquire("reading", read("waiting").leaseTime(LEASE));
		fleet.awaitWaiting("waiting", 1);
		Attempt<LockLease> next = Attempt.start(contexts.get(2), read("waiting").leaseTime(LEASE));
		fleet.awaitWaiting("waiting", 2);
		dead.kill();
		AtomicBoolean done = new AtomicBoolean();
		Crowd crowd = new Crowd();
		for (LockService locks : contexts.subList(0, 2)) {
			crowd.add(3, () -> {
				while (!done.get()) {
					locks.acquire(exclusive).close();
				}
			});
		}
		crowd.add(1, () -> {
			try {
				first.close();
				next.get().release();
			}
			finally {
				done.set(true);
			}
		});
		crowd.run();
	}

	@Test
	@DisplayName("F1 A reader is killed: a second reader goes on, and a writer waits for the second reader only")
	void readerKilled() {
		reader.acquire("reading", read("reader").leaseTime(LEASE));
		reader.awaitGranted("reading");
		LockLease mine = contexts.get(0).acquire(read("reader").leaseTime(LEASE));
		Attempt<LockLease> next = Attempt.start(contexts.get(1), write("reader"));
		fleet.awaitWaiting("reader", 1);
		assertThat(contexts.get(0).status("reader").readers()).isEqualTo(2);
		reader.kill();
		await("end of the dead reader's lease").atMost(LEASE.plus(Fleet.PROMPT))
			.until(() -> contexts.get(0).status("reader").readers() == 1);
		assertThat(next.isDone()).isFalse();
		mine.ensureHeld();
		mine.release();
		next.get(Fleet.PROMPT).release();
	}

	private static LockRequest read(String key) {
		return LockRequest.of(key).mode(LockMode.READ).waitTime(Fleet.PATIENCE.multipliedBy(2));
	}

	private static LockRequest write(String key) {
		return LockRequest.of(key).mode(LockMode.EXCLUSIVE).waitTime(Fleet.PATIENCE.multipliedBy(2));
	}

}
