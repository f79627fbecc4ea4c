package io.holdfast.engine.store;

import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.Standing;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * Contract of every {@link LeaseStore} for waiters for permits of a semaphore. See
 * {@link PermitStoreContract}.
 */
abstract class PermitQueueContract extends PermitHoldingContract {

	/** The hand-off timeout of the stores. */
	protected static final Duration HANDOFF = Duration.ofSeconds(1);

	/** Time after which a waiter with a claim below {@link #HANDOFF} counts as absent. */
	protected static final Duration STALE = HANDOFF.multipliedBy(2).plusMillis(50);

	@Test
	@DisplayName("F20 released permits go to the waiters in their order, when enough are free")
	void handsOverInOrder() {
		granted(acquire(this.a, "1", 1));
		granted(acquire(this.a, "2", 4));
		busy(acquire(this.b, "1", 3));
		busy(acquire(this.c, "1", 2));
		// A repeated acquire keeps the place.
		long last = busy(acquire(this.b, "1", 3)).fence();
		release(this.a, "1", 1);
		// A permit is free, but the first waiter needs three.
		assertThat(state().used()).isEqualTo(4);
		assertThat(state().waiting()).isEqualTo(2);
		release(this.a, "2", 4);
		WakeUp first = this.b.awaitWakeUp();
		assertThat(first.resource()).isEqualTo(SEMAPHORE);
		assertThat(first.token()).isEqualTo(this.b.token("1"));
		assertThat(first.fence()).isGreaterThan(last);
		assertThat(first.ttlMillis()).isEqualTo(CLAIM);
		WakeUp second = this.c.awaitWakeUp();
		assertThat(second.token()).isEqualTo(this.c.token("1"));
		assertThat(second.fence()).isGreaterThan(first.fence());
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(5, 0);
		assertThat(state().holders()).allMatch((holder) -> holder.ttlMillis() <= CLAIM);
	}

	@Test
	@DisplayName("A single release can grant permits to many waiters, in their order")
	void grantsToManyWaiters() {
		granted(this.a.acquire(SEMAPHORE, command(this.a, "0", 500, 500)));
		for (int i = 1; i <= 600; i++) {
			busy(this.b.acquire(SEMAPHORE, command(this.b, "" + i, 1, 500)));
		}
		release(this.a, "0", 500);
		this.b.awaitWakeUp(500);
		Map<Long, String> byFence = new TreeMap<>();
		this.b.wakeUps.forEach((wakeUp) -> byFence.put(wakeUp.fence(), wakeUp.token()));
		assertThat(byFence.values())
			.containsExactlyElementsOf(IntStream.rangeClosed(1, 500).mapToObj((i) -> this.b.token("" + i)).toList());
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(500, 100);
	}

	@Test
	@DisplayName("A hand-off becomes a full lease when its token asks")
	void handOffBecomesLease() {
		granted(acquire(this.a, "1", 5));
		busy(acquire(this.b, "1", 2));
		release(this.a, "1", 5);
		WakeUp wakeUp = this.b.awaitWakeUp();
		Granted granted = granted(acquire(this.b, "1", 2));
		assertThat(granted.fence()).isEqualTo(wakeUp.fence());
		assertThat(granted.ttlMillis()).isGreaterThan(CLAIM);
		assertThat(state().used()).isEqualTo(2);
	}

	@Test
	@DisplayName("F20 small requests do not pass a large request")
	void doesNotStarve() {
		granted(acquire(this.a, "1", 3));
		busy(acquire(this.b, "1", 4));
		busy(acquire(this.c, "1", 1));
		busy(this.a.attempt(SEMAPHORE, command(this.a, "2", 1)));
		assertThat(state().waiting()).isEqualTo(2);
		release(this.a, "1", 3);
		assertThat(holders(SEMAPHORE)).containsExactlyInAnyOrder(this.b.token("1") + " 4", this.c.token("1") + " 1");
	}

	@Test
	@DisplayName("An unfair request passes waiters if enough permits are free, and waits behind otherwise")
	void unfairPasses() {
		granted(acquire(this.a, "1", 3));
		busy(acquire(this.b, "1", 4));
		busy(this.c.acquire(SEMAPHORE, unfair(command(this.c, "1", 2 + 1))));
		granted(this.c.acquire(SEMAPHORE, unfair(command(this.c, "2", 2))));
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(5, 2);
		release(this.a, "1", 3);
		// Three permits are free, enough for the second waiter, but a release follows the
		// order.
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(2, 2);
		granted(this.c.acquire(SEMAPHORE, unfair(command(this.c, "1", 3))));
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(5, 1);
	}

	@Test
	@DisplayName("A request without waiting leaves no trace")
	void doesNotQueueUnasked() {
		granted(acquire(this.a, "1", 5));
		busy(this.b.attempt(SEMAPHORE, command(this.b, "1", 1)));
		busy(this.b.attempt(SEMAPHORE, unfair(command(this.b, "2", 1))));
		assertThat(state().waiting()).isZero();
		release(this.a, "1", 5);
		assertThat(state()).isEqualTo(UNUSED);
	}

	@Test
	@DisplayName("The first waiter gets free permits when its token asks, and the second waiter follows")
	void firstWaiterTakesFreePermits() {
		granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "1", 5))));
		busy(acquire(this.b, "1", 2));
		busy(acquire(this.c, "1", 3));
		elapse(MORE_THAN_SHORT);
		assertThat(granted(acquire(this.b, "1", 2)).ttlMillis()).isGreaterThan(CLAIM);
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("1"));
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(5, 0);
		assertThat(this.b.wakeUps).isEmpty();
	}

	@Test
	@DisplayName("A request grants expired permits to waiters")
	void nextRequestNoticesEnd() {
		granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "1", 5))));
		busy(acquire(this.b, "1", 2));
		busy(acquire(this.b, "2", 3));
		elapse(MORE_THAN_SHORT);
		busy(this.c.attempt(SEMAPHORE, command(this.c, "1", 1)));
		assertThat(this.b.awaitWakeUp(2).token()).isEqualTo(this.b.token("2"));
		assertThat(state().used()).isEqualTo(5);
	}

	@Test
	@DisplayName("F43 a release grants free permits to waiters, and so does the release of an expired token")
	void releaseNoticesEnd() {
		granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "1", 3))));
		granted(acquire(this.a, "2", 1));
		granted(acquire(this.a, "3", 1));
		busy(acquire(this.b, "1", 3));
		elapse(MORE_THAN_SHORT);
		assertThat(release(this.a, "1", 3)).isFalse();
		this.b.awaitWakeUp();
		busy(acquire(this.c, "1", 1));
		assertThat(release(this.a, "3", 1)).isTrue();
		this.c.awaitWakeUp();
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(5, 0);
	}

	@Test
	@DisplayName("A cancelled waiter gets no permits, and does not block the queue")
	void cancelsWait() {
		granted(acquire(this.a, "1", 3));
		busy(acquire(this.b, "1", 4));
		busy(acquire(this.c, "1", 2));
		assertThat(release(this.b, "1", 4)).isFalse();
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("1"));
		assertThat(release(this.a, "1", 3)).isTrue();
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(2, 0);
		assertThat(this.b.wakeUps).isEmpty();
	}

	@Test
	@DisplayName("F1 a waiter that stops asking loses its place, even if its absence is not detected")
	void dropsStale() {
		granted(acquire(this.a, "1", 3));
		busy(this.b.acquire(SEMAPHORE, brief(command(this.b, "1", 5))));
		busy(this.b.acquire(SEMAPHORE, brief(command(this.b, "2", 3))));
		elapse(STALE);
		granted(acquire(this.c, "1", 2));
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(5, 0);
		// The dropped waiter returns as a new waiter.
		busy(acquire(this.c, "2", 1));
		busy(this.b.acquire(SEMAPHORE, brief(command(this.b, "1", 5))));
		release(this.a, "1", 3);
		this.c.awaitWakeUp();
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(3, 1);
	}

	@Test
	@DisplayName("A waiter that asks regularly keeps its place, and a long claim needs fewer questions")
	void keepsAskingWaiters() {
		granted(acquire(this.a, "1", 3));
		AcquireCommand shortClaim = brief(command(this.b, "1", 5));
		busy(this.b.acquire(SEMAPHORE, shortClaim));
		busy(acquire(this.c, "1", 4));
		elapse(HANDOFF);
		busy(this.b.acquire(SEMAPHORE, shortClaim));
		elapse(HANDOFF.plusMillis(100));
		busy(acquire(this.a, "2", 1));
		assertThat(state().waiting()).isEqualTo(3);
		// Only the long claim keeps the second waiter in the queue.
		release(this.b, "1", 5);
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(3, 2);
	}

	@Test
	@DisplayName("A queue without questions expires")
	void forgetsQueue() {
		granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "1", 5))));
		busy(this.b.acquire(SEMAPHORE, brief(command(this.b, "1", 1))));
		elapse(STALE);
		assertThat(state()).isEqualTo(UNUSED);
		granted(acquire(this.c, "1", 5));
	}

	@Test
	@DisplayName("A waiter of an absent instance is passed over")
	void passesOverAbsentInstance() {
		assumeTrue(detectsAbsence());
		granted(acquire(this.a, "1", 5));
		busy(acquire(this.b, "1", 5));
		busy(acquire(this.c, "1", 1));
		busy(acquire(this.b, "2", 4));
		leave(this.b);
		release(this.a, "1", 5);
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("1"));
		assertThat(holders(SEMAPHORE)).containsExactly(this.c.token("1") + " 1");
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(1, 0);
	}

	@Test
	@DisplayName("F1 a large request of an absent instance does not block smaller requests")
	void smallBehindAbsentLarge() {
		assumeTrue(detectsAbsence());
		granted(acquire(this.a, "1", 3));
		busy(acquire(this.b, "1", 4));
		busy(acquire(this.b, "2", 1));
		leave(this.b);
		granted(acquire(this.c, "1", 2));
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(5, 0);
	}

	@Test
	@DisplayName("A polling waiter never counts as absent, and keeps its place when it starts to poll")
	void neverPassesOverPollingWaiter() {
		LeaseStore polling = newPollingStore();
		granted(acquire(this.a, "1", 5));
		busy(acquire(this.b, "1", 2));
		busy(acquire(this.c, "1", 4));
		busy(get(polling.acquire(SEMAPHORE, command(this.b, "1", 2), true)));
		busy(get(polling.acquire(SEMAPHORE, command(this.b, "1", 2), true)));
		busy(get(polling.acquire(SEMAPHORE, command(this.b, "2", 1), true)));
		assertThat(polling.isListening()).isFalse();
		assertThat(state().waiting()).isEqualTo(3);
		leave(this.b);
		release(this.a, "1", 5);
		assertThat(holders(SEMAPHORE)).containsExactly(this.b.token("1") + " 2");
		release(this.c, "1", 4);
		assertThat(holders(SEMAPHORE)).containsExactly(this.b.token("1") + " 2", this.b.token("2") + " 1");
		polling.close();
	}

}
