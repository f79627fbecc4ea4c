package io.holdfast.engine.handover;

import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.PermitLease;
import io.holdfast.engine.ScriptedPermits;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * For how long permits are passed on within an instance if no other instance waits, which
 * the store is asked.
 */
class PermitStayTests extends ScriptedPermits {

	/** One waits here in the store's queue, and others behind it. */
	private List<CompletableFuture<PermitLease>> inLine(int times) {
		List<CompletableFuture<PermitLease>> waiting = ask(times, ONE);
		this.store.last("acquire 4").busy(30_000, 15);
		this.store.sent();
		return waiting;
	}

	/** The first permit goes from one to the next. */
	private void pass(PermitLease lease, List<CompletableFuture<PermitLease>> waiting) {
		lease.releaseAsync();
		for (CompletableFuture<PermitLease> next : waiting) {
			assertThat(next).isCompleted();
			next.join().releaseAsync();
		}
	}

	@Test
	void theStoreIsAskedOnceAHalfTurnWhetherAnotherInstanceWaits() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = inLine(20);
		pass(held.get(0), waiting.subList(0, 1));
		assertThat(this.store.sent()).isEmpty();
		waiting.get(1).join().releaseAsync();
		assertThat(this.store.sent()).containsExactly("inspect permits");
		this.store.last("inspect permits").permits(null, LIMIT, 1);
		pass(waiting.get(2).join(), waiting.subList(3, 12));
		assertThat(this.store.sent()).isEmpty();
		this.store.elapse(3);
		waiting.get(12).join().releaseAsync();
		assertThat(this.store.sent()).containsExactly("inspect permits");
	}

	@Test
	void itStaysHereWhileNoOtherInstanceWaits() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = inLine(400);
		PermitLease last = held.get(0);
		long elapsed = 0;
		for (CompletableFuture<PermitLease> next : waiting.subList(0, 340)) {
			last.releaseAsync();
			if (!next.isDone()) {
				break;
			}
			last = next.join();
			this.store.elapse(3);
			elapsed += 3;
			if (this.store.sent().contains("inspect permits")) {
				this.store.last("inspect permits").permits(null, LIMIT, 1);
			}
		}
		// A second, after which it goes to the store whatever that says.
		assertThat(elapsed).isBetween(999L, 1002L);
	}

	@Test
	void aWaiterSeenInAnotherInstanceHasATurnAndIsNotLookedForAgainSoon() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = inLine(20);
		pass(held.get(0), waiting.subList(0, 2));
		assertThat(this.store.sent()).containsExactly("inspect permits");
		this.store.last("inspect permits").permits(null, LIMIT, 2);
		waiting.get(2).join().releaseAsync();
		assertThat(waiting.get(3)).isNotDone();
		assertThat(this.store.sent()).containsExactly("release 1 next 8");
		this.store.elapse(90);
		this.store.wakeUps.granted(SEMAPHORE, ID + ":4", 20, 5000);
		this.store.last("release 1").busy(30_000, 20);
		pass(waiting.get(3).join(), waiting.subList(4, 6));
		assertThat(this.store.sent()).isEmpty();
		this.store.elapse(4);
		pass(waiting.get(6).join(), List.of());
		assertThat(waiting.get(7)).isNotDone();
		this.store.elapse(6);
		this.store.wakeUps.granted(SEMAPHORE, ID + ":8", 21, 5000);
		this.store.last("release 4").busy(30_000, 21);
		this.store.sent();
		pass(waiting.get(7).join(), waiting.subList(8, 10));
		assertThat(this.store.sent()).containsExactly("inspect permits");
	}

	@Test
	void whoComesToAnotherInstanceIsSeenWithinATurn() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = inLine(20);
		pass(held.get(0), waiting.subList(0, 2));
		this.store.last("inspect permits").permits(null, LIMIT, 1);
		pass(waiting.get(2).join(), waiting.subList(3, 5));
		this.store.elapse(5);
		this.store.sent();
		waiting.get(5).join().releaseAsync();
		assertThat(waiting.get(6)).isNotDone();
		assertThat(this.store.sent()).containsExactly("release 1 next 11");
	}

	@Test
	void anOperatorsLowerLimitEndsIt() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = inLine(20);
		pass(held.get(0), waiting.subList(0, 2));
		this.store.last("inspect permits").permits(LIMIT - 1, LIMIT, 1);
		waiting.get(2).join().releaseAsync();
		assertThat(waiting.get(3)).isNotDone();
		assertThat(this.store.sent()).contains("release 1 next 8");
	}

	@Test
	void withoutAnAnswerItStaysForATurn() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = inLine(20);
		pass(held.get(0), waiting.subList(0, 2));
		waiting.get(2).join().releaseAsync();
		assertThat(waiting.get(3)).isNotDone();
		this.store.last("inspect permits").fail(true);
		this.store.sent();
		held.get(1).releaseAsync();
		assertThat(waiting.get(3)).isCompleted();
	}

	@Test
	void anAnswerThatIsLateIsOfNoUseAndNoOtherIsWantedSoon() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = inLine(20);
		pass(held.get(0), waiting.subList(0, 1));
		this.store.elapse(1);
		pass(waiting.get(1).join(), List.of());
		this.store.sent();
		this.store.elapse(5);
		this.store.last("inspect permits").permits(null, LIMIT, 1);
		waiting.get(2).join().releaseAsync();
		assertThat(waiting.get(3)).isNotDone();
		this.store.wakeUps.granted(SEMAPHORE, ID + ":4", 20, 5000);
		this.store.last("release 1").busy(30_000, 20);
		this.store.sent();
		pass(waiting.get(3).join(), waiting.subList(4, 6));
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	void whoIsNotWokenUpDoesNotAsk() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = inLine(20);
		this.store.listening = false;
		pass(held.get(0), waiting.subList(0, COUNT));
		assertThat(this.store.sent()).containsExactly("release 1 next 8");
	}

	@Test
	void whoseOwnPlaceInTheQueueIsNotKnownDoesNotAsk() {
		List<PermitLease> held = all(ONE);
		List<CompletableFuture<PermitLease>> waiting = ask(20, ONE);
		pass(held.get(0), waiting.subList(0, COUNT));
		assertThat(this.store.sent()).containsExactly("acquire 4", "release 1 next 8");
	}

}
