package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.testing.Order;
import io.holdfast.testing.Slow;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Many threads of 3 contexts and 2 JVMs share a semaphore: the limit is never exceeded,
 * as seen by the holders, with dying instances and any limit. Some instances hand permits
 * over among their threads.
 */
@Slow
class PermitCrowdTests extends FleetTestCase {

	private static final int CONTEXTS = 3;

	private static final int WORKERS = 2;

	private static final int ROUNDS = 40;

	private static List<SemaphoreService> contexts;

	private static List<Worker> workers;

	@BeforeAll
	static void start() {
		workers = fleet.startMixedWorkers(2);
		workers.forEach(Worker::awaitReady);
		contexts = fleet.startMixed(CONTEXTS).stream().map(fleet::semaphores).toList();
	}

	@ParameterizedTest(name = "Limit {0}, requests for up to {1} permits, fair: {2}")
	@CsvSource({ "1, 1, true", "3, 3, true", "10, 10, true", "10, 1, true", "7, 4, false", "3, 1, false" })
	@DisplayName("S13 Without races the limit is reached and never exceeded, every request is served, all permits come"
			+ " back")
	void crowded(int limit, int most, boolean fair) throws Exception {
		String key = "crowd-" + limit + "-" + most + "-" + fair;
		SemaphoreRequest request = SemaphoreRequest.of(key, limit)
			.permits(most)
			.fair(fair)
			.waitTime(Fleet.PATIENCE.multipliedBy(2));
		workers.forEach((worker) -> worker.use(key, request, 4, ROUNDS));
		Notes notes = new Notes();
		Crowd crowd = new Crowd();
		// Enough to reach the limit, also if the other JVMs are already done.
		for (SemaphoreService semaphores : contexts) {
			crowd.add(8, Users.of(semaphores, request, ROUNDS, notes));
		}
		crowd.run();
		List<Hold> holds = allHolds(key, notes);
		assertThat(holds).hasSize((CONTEXTS * 8 + WORKERS * 4) * ROUNDS);
		// Whether all permits are held at the same moment depends on chance if each
		// request takes several and processors are busy.
		assertThat(Overlaps.assertWithin(holds, limit)).as("the most permits at one moment")
			.isGreaterThan(limit / 2)
			.isLessThanOrEqualTo(limit);
		assertThat(notes.refusals()).as("refused in these contexts").isZero();
		assertThat(workers).as("refused in other JVMs").allMatch((worker) -> worker.refusals(key) == 0);
		assertAllFree(key, limit);
	}

	@Test
	@DisplayName("S13 Requests without waiting have no race either: they are refused or within the limit")
	void withoutWaiting() throws Exception {
		SemaphoreRequest request = SemaphoreRequest.of("tries", 5).permits(3);
		workers.forEach((worker) -> worker.use("tries", request, 4, ROUNDS));
		Notes notes = new Notes();
		Crowd crowd = new Crowd();
		for (SemaphoreService semaphores : contexts) {
			crowd.add(4, Users.of(semaphores, request, ROUNDS, notes));
		}
		crowd.run();
		Overlaps.assertWithin(allHolds("tries", notes), 5);
		assertThat(notes.refusals()).as("refused").isPositive();
		assertAllFree("tries", 5);
	}

	@Test
	@DisplayName("An operator changes the limit continually: each grant respects the limit at its moment, and every"
			+ " request is served")
	void limitThatChanges() throws Exception {
		String key = "operator";
		List<Integer> choice = List.of(3, 8, 5, 4, 12, 3, 6);
		SemaphoreRequest request = SemaphoreRequest.of(key, 100).permits(3).waitTime(Fleet.PATIENCE.multipliedBy(2));
		// A hand-over is no grant: its permits were granted before a change of the limit.
		Worker strict = workers.get(Order.STRICT.ordinal());
		List<SemaphoreService> strictServices = fleet.startSemaphores(CONTEXTS, Order.STRICT.properties());
		Limits limits = new Limits();
		limits.set(contexts.get(0), key, 5);
		strict.use(key, request, 8, ROUNDS);
		Notes notes = new Notes();
		Crowd crowd = new Crowd();
		AtomicInteger atIt = new AtomicInteger(CONTEXTS * 4);
		for (SemaphoreService semaphores : strictServices) {
			Crowd.Task waiting = Users.of(semaphores, request, ROUNDS, notes);
			Crowd.Task trying = Users.of(semaphores, request.waitTime(Duration.ZERO).fair(false), 20, notes);
			crowd.add(2, counting(waiting, atIt)).add(2, counting(trying, atIt));
		}
		crowd.add(1, () -> {
			Random random = new Random();
			while (atIt.get() > 0) {
				limits.set(contexts.get(0), key, choice.get(random.nextInt(choice.size())));
			}
		});
		crowd.run();
		List<Hold> holds = allHolds(key, notes, List.of(strict));
		assertThat(holds).hasSize(CONTEXTS * 2 * (ROUNDS + 20) + 8 * ROUNDS);
		assertThat(Overlaps.assertWithin(holds, limits)).as("the most permits at one moment").isGreaterThan(5);
		limits.set(contexts.get(0), key, 7);
		assertAllFree(key, 7);
		contexts.get(0).admin().clearLimit(key);
	}

	private static Crowd.Task counting(Crowd.Task task, AtomicInteger atIt) {
		return () -> {
			try {
				task.run();
			}
			finally {
				atIt.decrementAndGet();
			}
		};
	}

	/** Wait for the contexts and the two JVMs, and return all of their holds. */
	private static List<Hold> allHolds(String key, Notes notes) {
		return allHolds(key, notes, workers);
	}

	private static List<Hold> allHolds(String key, Notes notes, List<Worker> users) {
		users.forEach((worker) -> worker.awaitUsed(key));
		List<Hold> holds = new ArrayList<>(notes.holds());
		users.forEach((worker) -> holds.addAll(worker.holds(key)));
		return holds;
	}

	/** Check that all permits are free, once all is quiet. */
	private static void assertAllFree(String key, int limit) {
		assertThat(contexts.get(1).status(key).used()).as("used when all is quiet").isZero();
		SemaphoreRequest request = SemaphoreRequest.of(key, limit).permits(limit);
		assertThat(contexts.get(2).tryAcquire(request)).hasValueSatisfying((lease) -> {
			assertThat(contexts.get(1).status(key).free()).isZero();
			lease.close();
		});
	}

}
