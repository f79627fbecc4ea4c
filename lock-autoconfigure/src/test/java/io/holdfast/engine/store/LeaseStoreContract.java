package io.holdfast.engine.store;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Standing;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.engine.Locks.lock;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * What every {@link LeaseStore} must do with exclusive locks: held, and in this class
 * waited for and passed on.
 */
public abstract class LeaseStoreContract extends LeaseHoldingContract {

	@Test
	@DisplayName("a command may run behind newer ones after a reconnect only, except in a cluster")
	void commandsKeepTheirOrder() {
		granted(this.a.acquire("1"));
		long reconnects = this.a.store.reconnects();
		assertThat(this.a.store.mayRunLate(reconnects)).isEqualTo(!keepsOrder());
		assertThat(this.a.store.mayRunLate(reconnects - 1)).isTrue();
	}

	@Test
	@DisplayName("a released key goes to those who wait, in their order, for a claim")
	void handsOverInOrder() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		busy(this.c.acquire("1"));
		// Asking again keeps the place.
		Busy last = busy(this.b.acquire("1"));
		assertThat(this.a.inspect().waiting()).isEqualTo(2);
		this.a.release("1");
		WakeUp first = this.b.awaitWakeUp();
		assertThat(first.resource()).isEqualTo(lock(KEY));
		assertThat(first.token()).isEqualTo(this.b.token("1"));
		assertThat(first.fence()).isGreaterThan(last.fence());
		assertThat(first.ttlMillis()).isEqualTo(CLAIM);
		assertThat(this.a.inspect().ttlMillis()).isBetween(1L, CLAIM);
		assertThat(busy(this.c.acquire("1")).fence()).isEqualTo(first.fence());
		this.b.release("1");
		assertThat(this.c.awaitWakeUp().fence()).isGreaterThan(first.fence());
		assertThat(this.b.wakeUps).hasSize(1);
	}

	@Test
	@DisplayName("a hand-off becomes a full lease of the same fence when its token asks")
	void handOffBecomesLease() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		this.a.release("1");
		WakeUp wakeUp = this.b.awaitWakeUp();
		Granted granted = granted(this.b.acquire("1"));
		assertThat(granted.fence()).isEqualTo(wakeUp.fence());
		assertThat(granted.ttlMillis()).isGreaterThan(CLAIM);
		assertThat(this.b.inspect().ttlMillis()).isGreaterThan(CLAIM);
	}

	private boolean force(Instance by, String token) {
		return get(by.store.force(lock(KEY), List.of(token))).get(0);
	}

	@Test
	@DisplayName("a key that is released by force goes to those who wait, and its owner's instance is told")
	void releasesByForce() {
		Granted former = granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		busy(this.c.acquire("1"));
		assertThat(force(this.c, this.b.token("1"))).as("a waiter").isFalse();
		assertThat(force(this.c, this.a.token("1"))).isTrue();
		WakeUp next = this.b.awaitWakeUp();
		assertThat(this.a.awaitEnded("1")).isBetween(former.fence() + HandOverLimits.STRIDE, next.fence());
		assertThat(next.ttlMillis()).isEqualTo(CLAIM);
		assertThat(this.a.inspect()).extracting(Standing::owner, Standing::waiting)
			.containsExactly(this.b.token("1"), 1);
		assertThat(force(this.c, this.a.token("1"))).as("a copy").isFalse();
		assertThat(this.a.renew("1", LEASE)).isFalse();
		assertThat(force(this.c, this.b.token("1"))).isTrue();
		assertThat(this.b.awaitEnded("1")).isBetween(next.fence() + 1, this.c.awaitWakeUp().fence());
		assertThat(this.a.ended).containsOnlyKeys(this.a.token("1"));
		assertThat(this.b.ended).containsOnlyKeys(this.b.token("1"));
	}

	@Test
	@DisplayName("a key that is released by force is free if there are no waiters, or all of them are gone")
	void isFreeWhenReleasedByForce() {
		Granted last = granted(this.a.acquire("1"));
		if (seesWhoIsGone()) {
			busy(this.b.acquire("1"));
			leave(this.b);
		}
		assertThat(force(this.a, this.a.token("1"))).as("by its own instance").isTrue();
		assertThat(this.a.inspect()).extracting(Standing::owner, Standing::waiting).containsExactly(null, 0);
		long next = this.a.awaitEnded("1");
		assertThat(next).isGreaterThanOrEqualTo(last.fence() + HandOverLimits.STRIDE);
		assertThat(granted(this.c.acquire("1")).fence()).isGreaterThanOrEqualTo(next);
	}

	@Test
	@DisplayName("the key of another client is released by force for those who wait")
	void releasesForeignOwnerByForce() {
		putForeign(KEY, "0123:01", null);
		busy(this.b.acquire("1"));
		assertThat(force(this.c, "0123:01")).isTrue();
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
		assertThat(force(this.c, "0123:01")).isFalse();
		assertThat(this.a.inspect().owner()).isEqualTo(this.b.token("1"));
	}

	@Test
	@DisplayName("who does not want to wait is not handed anything")
	void doesNotQueueUnasked() {
		granted(this.a.acquire("1"));
		busy(this.b.attempt(lock(KEY), Commands.forLock(this.b.token("1"), LEASE, CLAIM)));
		assertThat(this.a.inspect().waiting()).isZero();
		this.a.release("1");
		assertThat(this.a.inspect().owner()).isNull();
	}

	@Test
	@DisplayName("who comes to a free key passes it on to the one who waited before")
	void passesOnToHeadOfQueue() {
		granted(this.a.acquireBriefly("1"));
		busy(this.b.acquire("1"));
		elapse(Duration.ofMillis(SHORT + 20));
		busy(this.c.acquire("1"));
		WakeUp wakeUp = this.b.awaitWakeUp();
		assertThat(wakeUp).extracting(WakeUp::resource, WakeUp::token).containsExactly(lock(KEY), this.b.token("1"));
		assertThat(this.a.inspect().owner()).isEqualTo(this.b.token("1"));
	}

	@Test
	@DisplayName("who gave up waiting is not handed anything")
	void cancelsWait() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		busy(this.c.acquire("1"));
		assertThat(this.b.release("1").released()).isFalse();
		this.a.release("1");
		this.c.awaitWakeUp();
		assertThat(this.b.wakeUps).isEmpty();
	}

	@Test
	@DisplayName("the next of an instance gets the key with the release, if no waiter is before it")
	void releasesToNext() {
		Granted first = granted(this.a.acquire("1"));
		ReleaseReply reply = this.a.release("1", "2");
		assertThat(reply.released()).isTrue();
		Granted next = granted(reply.next());
		assertThat(next.fence()).isGreaterThan(first.fence());
		assertThat(next.ttlMillis()).isBetween(LEASE - 1000, LEASE);
		assertThat(this.a.inspect().owner()).isEqualTo(this.a.token("2"));
	}

	@Test
	@DisplayName("the next of an instance goes behind those who wait already")
	void queuesNextAtTail() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		ReleaseReply reply = this.a.release("1", "2");
		assertThat(reply.released()).isTrue();
		Busy next = busy(reply.next());
		assertThat(next.fence()).isEqualTo(this.b.awaitWakeUp().fence());
		assertThat(next.ownerTtlMillis()).isBetween(1L, CLAIM);
		assertThat(next.foreign()).isFalse();
		this.b.release("1");
		assertThat(this.a.awaitWakeUp().token()).isEqualTo(this.a.token("2"));
	}

	@Test
	@DisplayName("the next of a waiter that gives up takes its place in the queue")
	void nextKeepsPlace() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		busy(this.c.acquire("1"));
		ReleaseReply reply = this.b.release("1", "2");
		assertThat(reply.released()).isFalse();
		busy(reply.next());
		this.a.release("1");
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("2"));
		assertThat(this.c.wakeUps).isEmpty();
	}

	@Test
	@DisplayName("a next that waits already, in another way, gets the key and waits no more")
	void nextThatWaitsAlready() {
		LeaseStore polling = newPollingStore();
		granted(this.a.acquire("1"));
		busy(this.a.acquire("2"));
		granted(get(polling.release(lock(KEY), Commands.forLock(this.a.token("1"), LEASE, CLAIM),
				Commands.forLock(this.a.token("2"), LEASE, CLAIM)))
			.next());
		assertThat(this.a.inspect().waiting()).isZero();
		polling.close();
	}

	@Test
	@DisplayName("a late copy of a release does not revive a next that is over")
	void lateReleaseDoesNotReviveNext() {
		granted(this.a.acquire("1"));
		granted(this.a.release("1", "2").next());
		this.a.release("2");
		assertThat(this.a.release("1", "2")).isEqualTo(new ReleaseReply(false, null, true));
		Standing state = this.a.inspect();
		assertThat(state.owner()).isNull();
		assertThat(state.waiting()).isZero();
	}

	@Test
	@DisplayName("a copy of a release tells again what became of next")
	void repeatedReleaseTellsNext() {
		granted(this.a.acquire("1"));
		Granted first = granted(this.a.release("1", "2").next());
		ReleaseReply again = this.a.release("1", "2");
		assertThat(again.released()).isFalse();
		assertThat(granted(again.next()).fence()).isEqualTo(first.fence());
	}

	@Test
	@DisplayName("a token that neither held nor waited brings in no other token")
	void strangerBringsInNoOther() {
		granted(this.b.acquire("1"));
		assertThat(this.a.release("1", "2")).isEqualTo(new ReleaseReply(false, null, true));
		assertThat(this.b.inspect().waiting()).isZero();
	}

	@Test
	@DisplayName("a waiter whose instance is gone is passed over")
	void passesOverInstanceThatIsGone() {
		assumeTrue(seesWhoIsGone());
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		busy(this.c.acquire("1"));
		leave(this.b);
		this.a.release("1");
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("1"));
	}

	@Test
	@DisplayName("who comes to a free key has it, if all that waited are gone")
	void comesAfterInstancesThatAreGone() {
		assumeTrue(seesWhoIsGone());
		granted(this.a.acquireBriefly("1"));
		busy(this.b.acquire("1"));
		leave(this.b);
		elapse(Duration.ofMillis(SHORT + 20));
		granted(this.c.acquire("1"));
		assertThat(this.c.inspect().owner()).isEqualTo(this.c.token("1"));
	}

	@Test
	@DisplayName("the next of an instance gets the key with the release, if all that waited before it are gone")
	void passesOnBehindInstancesThatAreGone() {
		assumeTrue(seesWhoIsGone());
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		leave(this.b);
		granted(this.a.release("1", "2").next());
		assertThat(this.a.inspect()).extracting(Standing::owner, Standing::waiting)
			.containsExactly(this.a.token("2"), 0);
	}

	@Test
	@DisplayName("the key is free if all that waited are gone")
	void freesKeyIfAllAreGone() {
		assumeTrue(seesWhoIsGone());
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		leave(this.b);
		this.a.release("1");
		assertThat(this.a.inspect()).extracting(Standing::owner, Standing::waiting).containsExactly(null, 0);
	}

	@Test
	@DisplayName("a waiter that polls is never taken for gone, also if it did not poll at first, and keeps its place")
	void neverPassesOverPollingWaiter() {
		LeaseStore polling = newPollingStore();
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		busy(this.c.acquire("1"));
		busy(get(polling.acquire(lock(KEY), Commands.forLock(this.b.token("1"), LEASE, CLAIM), true)));
		assertThat(polling.isListening()).isFalse();
		assertThat(this.a.inspect().waiting()).isEqualTo(2);
		leave(this.b);
		this.a.release("1");
		assertThat(this.a.inspect().owner()).isEqualTo(this.b.token("1"));
		assertThat(this.c.wakeUps).isEmpty();
		polling.close();
	}

	@Test
	@DisplayName("a stopped store receives no wake-ups, until it is started again")
	void stopsAndStartsAgain() {
		granted(this.a.acquire("1"));
		this.b.store.stop();
		assertThat(this.b.store.isListening()).isFalse();
		busy(this.c.acquire("1"));
		this.a.release("1");
		assertThat(this.c.inspect().owner()).isEqualTo(this.c.token("1"));
		this.b.store.start(this.b.id, this.b);
		await().until(this.b.store::isListening);
		busy(this.b.acquire("2"));
		this.c.release("1");
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("2"));
	}

	@Test
	@DisplayName("a closed store fails commands")
	void failsWhenClosed() {
		this.a.store.close();
		CompletableFuture<AcquireReply> reply = this.a.store.acquire(lock(KEY),
				Commands.forLock(this.a.token("1"), LEASE, CLAIM), true);
		assertThat(reply).failsWithin(Duration.ofSeconds(5))
			.withThrowableOfType(ExecutionException.class)
			.withCauseInstanceOf(StoreCommandException.class);
	}

}
