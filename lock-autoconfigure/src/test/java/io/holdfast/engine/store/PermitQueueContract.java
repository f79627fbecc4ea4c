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
 * What every {@link LeaseStore} must do with those who wait for permits of a semaphore.
 * See {@link PermitStoreContract}.
 */
abstract class PermitQueueContract extends PermitHoldingContract {

	/** The hand-off timeout of the stores. */
	protected static final Duration HANDOFF = Duration.ofSeconds(1);

	/** After that, who waits with a claim below {@link #HANDOFF} counts as gone. */
	protected static final Duration STALE = HANDOFF.multipliedBy(2).plusMillis(50);

	@Test
	@DisplayName("F20 permits that come back go to those who wait, in their order, each when it fits")
	void handsOverInOrder() {
		granted(acquire(this.a, "1", 1));
		granted(acquire(this.a, "2", 4));
		busy(acquire(this.b, "1", 3));
		busy(acquire(this.c, "1", 2));
		// Asking again keeps the place.
		long last = busy(acquire(this.b, "1", 3)).fence();
		release(this.a, "1", 1);
		// One is free, but no waiter takes it: the first needs three.
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
	@DisplayName("many are let in by one release, in their order")
	void letsManyIn() {
		granted(this.a.acquire(SEMAPHORE, ask(this.a, "0", 500, 500)));
		for (int i = 1; i <= 600; i++) {
			busy(this.b.acquire(SEMAPHORE, ask(this.b, "" + i, 1, 500)));
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
	@DisplayName("a hand-off becomes a full lease when its token asks")
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
	@DisplayName("F20 who asks for much is not passed by those who ask for little")
	void doesNotStarve() {
		granted(acquire(this.a, "1", 3));
		busy(acquire(this.b, "1", 4));
		busy(acquire(this.c, "1", 1));
		busy(this.a.attempt(SEMAPHORE, ask(this.a, "2", 1)));
		assertThat(state().waiting()).isEqualTo(2);
		release(this.a, "1", 3);
		assertThat(holders(SEMAPHORE)).containsExactlyInAnyOrder(this.b.token("1") + " 4", this.c.token("1") + " 1");
	}

	@Test
	@DisplayName("who asks unfairly passes those who wait, if it fits, and waits behind them if not")
	void unfairPasses() {
		granted(acquire(this.a, "1", 3));
		busy(acquire(this.b, "1", 4));
		busy(this.c.acquire(SEMAPHORE, unfair(ask(this.c, "1", 2 + 1))));
		granted(this.c.acquire(SEMAPHORE, unfair(ask(this.c, "2", 2))));
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(5, 2);
		release(this.a, "1", 3);
		// Three are free and the one behind needs no more, but a release knows only the
		// order.
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(2, 2);
		granted(this.c.acquire(SEMAPHORE, unfair(ask(this.c, "1", 3))));
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(5, 1);
	}

	@Test
	@DisplayName("who does not want to wait leaves no trace")
	void doesNotQueueUnasked() {
		granted(acquire(this.a, "1", 5));
		busy(this.b.attempt(SEMAPHORE, ask(this.b, "1", 1)));
		busy(this.b.attempt(SEMAPHORE, unfair(ask(this.b, "2", 1))));
		assertThat(state().waiting()).isZero();
		release(this.a, "1", 5);
		assertThat(state()).isEqualTo(UNUSED);
	}

	@Test
	@DisplayName("the first in the queue gets what is free when it asks, and so does who comes behind it")
	void firstTakesWhatIsFree() {
		granted(this.a.acquire(SEMAPHORE, brief(ask(this.a, "1", 5))));
		busy(acquire(this.b, "1", 2));
		busy(acquire(this.c, "1", 3));
		elapse(MORE_THAN_SHORT);
		assertThat(granted(acquire(this.b, "1", 2)).ttlMillis()).isGreaterThan(CLAIM);
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("1"));
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(5, 0);
		assertThat(this.b.wakeUps).isEmpty();
	}

	@Test
	@DisplayName("the next request notices for those who wait that leases ended")
	void nextRequestNoticesEnd() {
		granted(this.a.acquire(SEMAPHORE, brief(ask(this.a, "1", 5))));
		busy(acquire(this.b, "1", 2));
		busy(acquire(this.b, "2", 3));
		elapse(MORE_THAN_SHORT);
		busy(this.c.attempt(SEMAPHORE, ask(this.c, "1", 1)));
		assertThat(this.b.awaitWakeUp(2).token()).isEqualTo(this.b.token("2"));
		assertThat(state().used()).isEqualTo(5);
	}

	@Test
	@DisplayName("F43 a release of what is over lets those in who wait, and so does that of another lease")
	void releaseNoticesEnd() {
		granted(this.a.acquire(SEMAPHORE, brief(ask(this.a, "1", 3))));
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
	@DisplayName("who gave up waiting is not handed anything, and no longer in the way")
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
	@DisplayName("F1 who no longer asks loses its place, even if it cannot be seen that it is gone")
	void dropsStale() {
		granted(acquire(this.a, "1", 3));
		busy(this.b.acquire(SEMAPHORE, brief(ask(this.b, "1", 5))));
		busy(this.b.acquire(SEMAPHORE, brief(ask(this.b, "2", 3))));
		elapse(STALE);
		granted(acquire(this.c, "1", 2));
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(5, 0);
		// It comes back as a new waiter.
		busy(acquire(this.c, "2", 1));
		busy(this.b.acquire(SEMAPHORE, brief(ask(this.b, "1", 5))));
		release(this.a, "1", 3);
		this.c.awaitWakeUp();
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(3, 1);
	}

	@Test
	@DisplayName("who asks now and then keeps its place, and who has a long claim needs not ask so often")
	void keepsWhoAsks() {
		granted(acquire(this.a, "1", 3));
		AcquireCommand shortClaim = brief(ask(this.b, "1", 5));
		busy(this.b.acquire(SEMAPHORE, shortClaim));
		busy(acquire(this.c, "1", 4));
		elapse(HANDOFF);
		busy(this.b.acquire(SEMAPHORE, shortClaim));
		elapse(HANDOFF.plusMillis(100));
		busy(acquire(this.a, "2", 1));
		assertThat(state().waiting()).isEqualTo(3);
		// By now only the long claim keeps the second one in.
		release(this.b, "1", 5);
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(3, 2);
	}

	@Test
	@DisplayName("a queue without requests goes by itself")
	void forgetsQueue() {
		granted(this.a.acquire(SEMAPHORE, brief(ask(this.a, "1", 5))));
		busy(this.b.acquire(SEMAPHORE, brief(ask(this.b, "1", 1))));
		elapse(STALE);
		assertThat(state()).isEqualTo(UNUSED);
		granted(acquire(this.c, "1", 5));
	}

	@Test
	@DisplayName("a waiter whose instance is gone is passed over")
	void passesOverInstanceThatIsGone() {
		assumeTrue(seesWhoIsGone());
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
	@DisplayName("a waiter that polls is never taken for gone, also if it did not poll at first, and keeps its place")
	void neverPassesOverPollingWaiter() {
		LeaseStore polling = newPollingStore();
		granted(acquire(this.a, "1", 5));
		busy(acquire(this.b, "1", 2));
		busy(acquire(this.c, "1", 4));
		busy(get(polling.acquire(SEMAPHORE, ask(this.b, "1", 2), true)));
		busy(get(polling.acquire(SEMAPHORE, ask(this.b, "1", 2), true)));
		busy(get(polling.acquire(SEMAPHORE, ask(this.b, "2", 1), true)));
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
