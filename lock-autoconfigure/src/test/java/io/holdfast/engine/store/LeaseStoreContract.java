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
 * Contract of every {@link LeaseStore} for exclusive locks: holders, and in this class
 * waiters and hand-over.
 */
public abstract class LeaseStoreContract extends LeaseHoldingContract {

	@Test
	@DisplayName("A command may run after newer commands only after a reconnect, or in a cluster")
	void commandsKeepTheirOrder() {
		granted(this.a.acquire("1"));
		long reconnects = this.a.store.reconnects();
		assertThat(this.a.store.mayRunLate(reconnects)).isEqualTo(!keepsOrder());
		assertThat(this.a.store.mayRunLate(reconnects - 1)).isTrue();
	}

	@Test
	@DisplayName("A released key goes to the waiters in their order, for a claim")
	void handsOverInOrder() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		busy(this.c.acquire("1"));
		// A repeated acquire keeps the place.
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
	@DisplayName("A hand-off becomes a full lease with the same fence when its token asks")
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
	@DisplayName("A forced release hands the key to the first waiter, and notifies the owner's instance")
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
	@DisplayName("A forced release frees the key if no waiter is present")
	void isFreeWhenReleasedByForce() {
		Granted last = granted(this.a.acquire("1"));
		if (detectsAbsence()) {
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
	@DisplayName("A forced release of a foreign owner hands the key to the first waiter")
	void releasesForeignOwnerByForce() {
		putForeign(KEY, "0123:01", null);
		busy(this.b.acquire("1"));
		assertThat(force(this.c, "0123:01")).isTrue();
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
		assertThat(force(this.c, "0123:01")).isFalse();
		assertThat(this.a.inspect().owner()).isEqualTo(this.b.token("1"));
	}

	@Test
	@DisplayName("A request without waiting gets no hand-off")
	void doesNotQueueUnasked() {
		granted(this.a.acquire("1"));
		busy(this.b.attempt(lock(KEY), Commands.forLock(this.b.token("1"), LEASE, CLAIM)));
		assertThat(this.a.inspect().waiting()).isZero();
		this.a.release("1");
		assertThat(this.a.inspect().owner()).isNull();
	}

	@Test
	@DisplayName("A request for an expired key hands the key to the first waiter")
	void handsExpiredKeyToHeadOfQueue() {
		granted(this.a.acquireBriefly("1"));
		busy(this.b.acquire("1"));
		elapse(Duration.ofMillis(SHORT + 20));
		busy(this.c.acquire("1"));
		WakeUp wakeUp = this.b.awaitWakeUp();
		assertThat(wakeUp).extracting(WakeUp::resource, WakeUp::token).containsExactly(lock(KEY), this.b.token("1"));
		assertThat(this.a.inspect().owner()).isEqualTo(this.b.token("1"));
	}

	@Test
	@DisplayName("The next token of an instance gets the key with the release, if there is no waiter")
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
	@DisplayName("The next token of an instance goes to the end of the queue")
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
	@DisplayName("The next token of a cancelled waiter takes its place in the queue")
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
	@DisplayName("A next token that already waits gets the key and leaves the queue, also after a switch to polling")
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
	@DisplayName("A late copy of a release does not revive an ended next token")
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
	@DisplayName("A copy of a release repeats the answer for the next token")
	void repeatedReleaseTellsNext() {
		granted(this.a.acquire("1"));
		Granted first = granted(this.a.release("1", "2").next());
		ReleaseReply again = this.a.release("1", "2");
		assertThat(again.released()).isFalse();
		assertThat(granted(again.next()).fence()).isEqualTo(first.fence());
	}

	@Test
	@DisplayName("An unknown token brings in no next token")
	void unknownTokenBringsInNoNext() {
		granted(this.b.acquire("1"));
		assertThat(this.a.release("1", "2")).isEqualTo(new ReleaseReply(false, null, true));
		assertThat(this.b.inspect().waiting()).isZero();
	}

	@Test
	@DisplayName("A waiter of an absent instance is passed over")
	void passesOverAbsentInstance() {
		assumeTrue(detectsAbsence());
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		busy(this.c.acquire("1"));
		leave(this.b);
		this.a.release("1");
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("1"));
	}

	@Test
	@DisplayName("A request for an expired key is granted if all waiters are absent")
	void requestFollowsAbsentInstances() {
		assumeTrue(detectsAbsence());
		granted(this.a.acquireBriefly("1"));
		busy(this.b.acquire("1"));
		leave(this.b);
		elapse(Duration.ofMillis(SHORT + 20));
		granted(this.c.acquire("1"));
		assertThat(this.c.inspect().owner()).isEqualTo(this.c.token("1"));
	}

	@Test
	@DisplayName("The next token gets the key with the release if all waiters are absent")
	void nextFollowsAbsentInstances() {
		assumeTrue(detectsAbsence());
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		leave(this.b);
		granted(this.a.release("1", "2").next());
		assertThat(this.a.inspect()).extracting(Standing::owner, Standing::waiting)
			.containsExactly(this.a.token("2"), 0);
	}

	@Test
	@DisplayName("A released key is free if all waiters are absent")
	void freesKeyIfAllAreAbsent() {
		assumeTrue(detectsAbsence());
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		leave(this.b);
		this.a.release("1");
		assertThat(this.a.inspect()).extracting(Standing::owner, Standing::waiting).containsExactly(null, 0);
	}

	@Test
	@DisplayName("A polling waiter never counts as absent, and keeps its place when it starts to poll")
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
	@DisplayName("A stopped store receives no wake-ups until its next start")
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
	@DisplayName("A closed store fails commands")
	void failsWhenClosed() {
		this.a.store.close();
		CompletableFuture<AcquireReply> reply = this.a.store.acquire(lock(KEY),
				Commands.forLock(this.a.token("1"), LEASE, CLAIM), true);
		assertThat(reply).failsWithin(Duration.ofSeconds(5))
			.withThrowableOfType(ExecutionException.class)
			.withCauseInstanceOf(StoreCommandException.class);
	}

}
