package io.holdfast.fleet;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.Lease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.engine.EngineObserver;
import io.holdfast.engine.ObservedRequest;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Hand-overs among the threads of an instance, and their end in favour of other
 * instances.
 */
class LocalHandOverTests extends FleetTestCase {

	private static final int COUNT = 5;

	private static final int LIMIT = 3;

	/** The count ends local hand-overs on a machine of any speed. */
	private static final String[] BY_COUNT = properties(COUNT, "10s");

	private static LockService first;

	private static LockService second;

	private static String[] properties(int maxCount, String maxTime) {
		List<String> properties = new ArrayList<>();
		for (String kind : List.of("lock", "semaphore")) {
			properties.add("holdfast." + kind + ".local-hand-over.max-count=" + maxCount);
			properties.add("holdfast." + kind + ".local-hand-over.max-time=" + maxTime);
		}
		return properties.toArray(String[]::new);
	}

	@BeforeAll
	static void start() {
		List<LockService> contexts = fleet.start(2, BY_COUNT);
		first = contexts.get(0);
		second = contexts.get(1);
	}

	@BeforeEach
	@Override
	void nameKey(TestInfo test) {
		this.key = test.getTestMethod().orElseThrow().getName() + test.getDisplayName().hashCode();
	}

	private CompletableFuture<? extends Lease> ask(Kind kind, LockService instance) {
		return switch (kind) {
			case LOCK -> instance.acquireAsync(LockRequest.of(this.key).waitTime(Fleet.PATIENCE));
			case PERMIT ->
				fleet.semaphores(instance).acquireAsync(SemaphoreRequest.of(this.key, 1).waitTime(Fleet.PATIENCE));
		};
	}

	private static Lease get(CompletableFuture<? extends Lease> answer) {
		assertThat(answer).succeedsWithin(Fleet.PATIENCE);
		return answer.join();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("Waiters of an instance are served in their order, and after a number of turns a waiter of another"
			+ " instance")
	void inTurns(Kind kind) {
		Lease held = get(ask(kind, first));
		List<CompletableFuture<? extends Lease>> here = new ArrayList<>();
		for (int i = 0; i <= COUNT; i++) {
			here.add(ask(kind, first));
		}
		CompletableFuture<? extends Lease> other = ask(kind, second);
		awaitInStore(kind, (kind == Kind.PERMIT) ? 2 : 1);
		held.release();
		for (int i = 0; i < COUNT; i++) {
			Lease next = get(here.get(i));
			assertThat(other).as("before %d local turns", COUNT).isNotDone();
			assertThat(here.subList(i + 1, here.size())).as("the later waiters").noneMatch(CompletableFuture::isDone);
			next.release();
		}
		// The next local waiter may be in the store's queue before the other instance.
		List<CompletableFuture<? extends Lease>> rest = new ArrayList<>(List.of(here.get(COUNT), other));
		Lease next = get(CompletableFuture.anyOf(rest.toArray(CompletableFuture[]::new)).thenApply(Lease.class::cast));
		assertThat(rest).filteredOn(CompletableFuture::isDone).hasSize(1);
		next.release();
		rest.forEach((answer) -> get(answer).release());
	}

	@Test
	@DisplayName("The limit is reached and never exceeded, and all requests are served, while threads of two instances"
			+ " hand permits over")
	void limit() throws Exception {
		Notes notes = new Notes();
		SemaphoreRequest one = SemaphoreRequest.of(this.key, LIMIT).waitTime(Fleet.PATIENCE);
		AtomicInteger passedOn = new AtomicInteger();
		Crowd crowd = new Crowd();
		for (LockService instance : List.of(first, second)) {
			fleet.engine(instance).observe(new EngineObserver() {

				@Override
				public RequestObserver requested(ObservedRequest request) {
					return new RequestObserver() {

						@Override
						public void handedOver(HandOver way) {
							passedOn.addAndGet((way == HandOver.LOCAL) ? 1 : 0);
						}

					};
				}

			});
			crowd.add(8, Users.of(fleet.semaphores(instance), one, 30, notes));
		}
		crowd.run();
		assertThat(notes.holds()).hasSize(2 * 8 * 30);
		assertThat(Overlaps.assertWithin(notes.holds(), LIMIT)).isEqualTo(LIMIT);
		assertThat(notes.refusals()).isZero();
		assertThat(passedOn).as("passed on").hasPositiveValue();
	}

	@Test
	@DisplayName("A lowered limit counts as soon as the local hand-overs have ended")
	void loweredLimit() {
		SemaphoreService semaphores = fleet.semaphores(first);
		SemaphoreService operator = fleet.semaphores(second);
		SemaphoreRequest one = SemaphoreRequest.of(this.key, LIMIT).waitTime(Fleet.PATIENCE);
		Queue<Lease> held = new ArrayDeque<>();
		for (int i = 0; i < LIMIT; i++) {
			held.add(semaphores.acquire(one));
		}
		Queue<CompletableFuture<? extends Lease>> waiting = new ArrayDeque<>();
		for (int i = 0; i < LIMIT * COUNT + 2 * COUNT; i++) {
			waiting.add(semaphores.acquireAsync(one));
		}
		operator.admin().setLimit(this.key, 1);
		int turns = 0;
		while (held.size() > 1) {
			held.remove().release();
			// Redis grants no permits now, and does not know of local hand-overs.
			if (semaphores.status(this.key).used() > held.size()) {
				held.add(get(waiting.remove()));
				turns++;
			}
		}
		assertThat(turns).isEqualTo(LIMIT * COUNT);
		while (!waiting.isEmpty()) {
			held.remove().release();
			held.add(get(waiting.remove()));
			assertThat(waiting).as("beside the only permit").noneMatch(CompletableFuture::isDone);
		}
		held.remove().release();
		operator.admin().clearLimit(this.key);
	}

	private void awaitInStore(Kind kind, int count) {
		switch (kind) {
			case LOCK -> fleet.awaitWaiting(this.key, count);
			case PERMIT -> fleet.awaitWaitingForPermits(this.key, count);
		}
	}

	enum Kind {

		LOCK, PERMIT

	}

}
