package io.holdfast.engine.store;

import java.util.List;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Rejected;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Standing;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Contract of every {@link LeaseStore} for the next token of a release of permits.
 */
abstract class PermitSuccessionContract extends PermitLimitContract {

	/** Release all permits, with a next token. */
	private ReleaseReply succeed(Instance instance, String n, AcquireCommand next) {
		return instance.release(SEMAPHORE, command(instance, n, LIMIT), next);
	}

	@Test
	@DisplayName("The next token of an instance gets released permits, if there is no waiter")
	void grantsNext() {
		Granted first = granted(acquire(this.a, "1", LIMIT));
		ReleaseReply reply = succeed(this.a, "1", command(this.a, "2", 2));
		assertThat(reply.released()).isTrue();
		Granted second = granted(reply.next());
		assertThat(second.fence()).isGreaterThan(first.fence());
		assertThat(second.ttlMillis()).isBetween(LEASE - 1000, LEASE);
		assertThat(holders(SEMAPHORE)).containsExactly(this.a.token("2") + " 2");
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(2, 0);
		assertThat(this.a.wakeUps).isEmpty();
	}

	@Test
	@DisplayName("The next token goes behind the waiters")
	void nextGoesBehind() {
		granted(acquire(this.a, "1", LIMIT));
		busy(acquire(this.b, "1", 4));
		busy(acquire(this.c, "1", 4));
		ReleaseReply reply = succeed(this.a, "1", command(this.a, "2", 1));
		assertThat(reply.released()).isTrue();
		Busy busy = busy(reply.next());
		assertThat(busy.fence()).isEqualTo(this.b.awaitWakeUp().fence());
		assertThat(busy.ownerTtlMillis()).isBetween(1L, CLAIM);
		assertThat(busy.foreign()).isFalse();
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(4, 2);
		release(this.b, "1", 4);
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("1"));
		assertThat(this.a.awaitWakeUp().token()).isEqualTo(this.a.token("2"));
	}

	@Test
	@DisplayName("An unfair next token passes a waiter that needs more permits than are free")
	void unfairNextPasses() {
		granted(acquire(this.a, "1", 3));
		granted(acquire(this.a, "2", 2));
		busy(acquire(this.b, "1", 4));
		granted(this.a.release(SEMAPHORE, command(this.a, "1", 3), unfair(command(this.a, "3", 3))).next());
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(5, 1);
		busy(this.a.release(SEMAPHORE, command(this.a, "2", 2), command(this.a, "4", 2)).next());
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(3, 2);
	}

	@Test
	@DisplayName("Waiters of the same instance before the next token are woken up")
	void wakesUpWaitersBeforeNext() {
		granted(acquire(this.a, "1", LIMIT));
		busy(acquire(this.a, "2", 2));
		busy(acquire(this.a, "3", 3));
		busy(succeed(this.a, "1", command(this.a, "4", 1)).next());
		assertThat(this.a.awaitWakeUp(2).token()).isEqualTo(this.a.token("3"));
		assertThat(this.a.wakeUps.get(0).token()).isEqualTo(this.a.token("2"));
		assertThat(this.a.wakeUps).allMatch((wakeUp) -> wakeUp.ttlMillis() == CLAIM).hasSize(2);
		assertThat(holders(SEMAPHORE)).containsExactlyInAnyOrder(this.a.token("2") + " 2", this.a.token("3") + " 3");
	}

	@Test
	@DisplayName("A busy answer for the next token has the end of the first remaining lease")
	void tellsFirstRemainingEnd() {
		granted(this.a.acquire(SEMAPHORE, new AcquireCommand(this.a.token("1"), 1, LIMIT, true, 10_000, CLAIM)));
		granted(acquire(this.a, "2", 4));
		busy(acquire(this.b, "1", 2));
		Busy busy = busy(this.a.release(SEMAPHORE, command(this.a, "1", 1), command(this.a, "3", 1)).next());
		assertThat(busy.ownerTtlMillis()).isBetween(10_001L, LEASE);
	}

	@Test
	@DisplayName("The next token is decided by its own limit or an operator's limit, and is not queued above the limit")
	void refusesNext() {
		granted(acquire(this.a, "1", LIMIT));
		busy(acquire(this.b, "1", 1));
		assertThat(succeed(this.a, "1", command(this.a, "2", 7, 6)))
			.isEqualTo(new ReleaseReply(true, new Rejected(6), true));
		this.b.awaitWakeUp();
		assertThat(state()).extracting(Standing::asked, Standing::used, Standing::waiting).containsExactly(6, 1, 0);
		get(this.a.store.limit(SEMAPHORE, 3));
		assertThat(this.b.release(SEMAPHORE, command(this.b, "1", 1), command(this.b, "2", 4)).next())
			.isEqualTo(new Rejected(3));
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(0, 0);
	}

	@Test
	@DisplayName("A cancelled waiter brings in the next token, at the end of the queue")
	void cancelledWaiterBringsInNext() {
		granted(acquire(this.a, "1", LIMIT));
		busy(acquire(this.b, "1", 1));
		busy(acquire(this.c, "1", LIMIT));
		ReleaseReply reply = this.b.release(SEMAPHORE, command(this.b, "1", 1), command(this.b, "2", 1));
		assertThat(reply.released()).isFalse();
		busy(reply.next());
		assertThat(state().waiting()).isEqualTo(2);
		release(this.a, "1", LIMIT);
		assertThat(holders(SEMAPHORE)).containsExactly(this.c.token("1") + " 5");
		assertThat(this.b.wakeUps).isEmpty();
	}

	private static AcquireCommand one(Instance instance, String n, int limit) {
		return new AcquireCommand(instance.token(n), 1, limit, true, LEASE, CLAIM);
	}

	@Test
	@DisplayName("A single released permit goes to the first waiter, and the next token to the end of the queue")
	void singlePermitInTurn() {
		granted(this.a.acquire(SEMAPHORE, one(this.a, "1", 2)));
		granted(this.c.acquire(SEMAPHORE, one(this.c, "1", 2)));
		busy(this.b.acquire(SEMAPHORE, one(this.b, "1", 2)));
		busy(this.a.acquire(SEMAPHORE, one(this.a, "2", 2)));
		Busy busy = busy(this.a.release(SEMAPHORE, one(this.a, "1", 2), one(this.a, "3", 2)).next());
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
		assertThat(busy.fence()).isEqualTo(this.b.awaitWakeUp().fence());
		assertThat(busy.ownerTtlMillis()).isBetween(1L, CLAIM);
		assertThat(busy).extracting(Busy::held, Busy::limit, Busy::owner).containsExactly(2, 2, null);
		busy = busy(this.b.release(SEMAPHORE, one(this.b, "1", 2), one(this.b, "2", 2)).next());
		assertThat(busy).extracting(Busy::held, Busy::limit, Busy::owner).containsExactly(2, 2, null);
		assertThat(busy.fence()).isEqualTo(this.a.awaitWakeUp().fence()).isGreaterThan(this.b.awaitWakeUp().fence());
		assertThat(holders(SEMAPHORE)).containsExactlyInAnyOrder(this.c.token("1") + " 1", this.a.token("2") + " 1");
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(2, 2);
		busy(this.c.release(SEMAPHORE, one(this.c, "1", 2), one(this.c, "2", 2)).next());
		assertThat(this.a.awaitWakeUp(2).token()).isEqualTo(this.a.token("3"));
		assertThat(this.a.release(SEMAPHORE, one(this.a, "3", 2))).isTrue();
		assertThat(this.b.awaitWakeUp(2).token()).isEqualTo(this.b.token("2"));
	}

	@Test
	@DisplayName("A single released permit wakes up a waiter of the same instance")
	void singlePermitToOwnInstance() {
		granted(this.a.acquire(SEMAPHORE, one(this.a, "1", 1)));
		busy(this.a.acquire(SEMAPHORE, one(this.a, "2", 1)));
		Busy busy = busy(this.a.release(SEMAPHORE, one(this.a, "1", 1), one(this.a, "3", 1)).next());
		assertThat(this.a.awaitWakeUp()).isEqualTo(new WakeUp(SEMAPHORE, this.a.token("2"), busy.fence(), CLAIM));
		assertThat(busy).extracting(Busy::held, Busy::limit, Busy::owner).containsExactly(1, 1, null);
	}

	@Test
	@DisplayName("A single released permit is granted to all waiters within their own limits, before the next token")
	void singlePermitForSeveralWaiters() {
		granted(this.a.acquire(SEMAPHORE, one(this.a, "1", 1)));
		busy(this.b.acquire(SEMAPHORE, one(this.b, "1", 1)));
		busy(this.c.acquire(SEMAPHORE, one(this.c, "1", 2)));
		busy(this.a.release(SEMAPHORE, one(this.a, "1", 1), one(this.a, "2", 1)).next());
		this.b.awaitWakeUp();
		this.c.awaitWakeUp();
		assertThat(holders(SEMAPHORE)).containsExactlyInAnyOrder(this.b.token("1") + " 1", this.c.token("1") + " 1");
		busy(this.b.release(SEMAPHORE, one(this.b, "1", 1), one(this.b, "2", 3)).next());
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(1, 2);
	}

	@Test
	@DisplayName("A next token with a permit or a place gets neither again")
	void nextIsNeitherGrantedNorQueuedAgain() {
		granted(this.a.acquire(SEMAPHORE, one(this.a, "1", 2)));
		granted(this.a.acquire(SEMAPHORE, one(this.a, "2", 2)));
		busy(this.b.acquire(SEMAPHORE, one(this.b, "1", 2)));
		busy(this.c.acquire(SEMAPHORE, one(this.c, "1", 2)));
		granted(this.a.release(SEMAPHORE, one(this.a, "1", 2), one(this.a, "2", 2)).next());
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(2, 1);
		busy(this.b.acquire(SEMAPHORE, one(this.b, "2", 2)));
		busy(this.a.acquire(SEMAPHORE, one(this.a, "3", 2)));
		busy(this.b.release(SEMAPHORE, one(this.b, "1", 2), one(this.b, "2", 2)).next());
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(2, 2);
		assertThat(this.a.release(SEMAPHORE, one(this.a, "2", 2))).isTrue();
		assertThat(this.b.awaitWakeUp(2).token()).isEqualTo(this.b.token("2"));
	}

	@Test
	@DisplayName("A single released permit is not granted above an operator's limit")
	void singlePermitAboveTheLimit() {
		granted(this.a.acquire(SEMAPHORE, one(this.a, "1", 2)));
		granted(this.a.acquire(SEMAPHORE, one(this.a, "2", 2)));
		busy(this.b.acquire(SEMAPHORE, one(this.b, "1", 2)));
		get(this.a.store.limit(SEMAPHORE, 1));
		busy(this.a.release(SEMAPHORE, one(this.a, "1", 2), one(this.a, "3", 2)).next());
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(1, 2);
		busy(this.a.release(SEMAPHORE, one(this.a, "2", 2), one(this.a, "4", 2)).next());
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(1, 2);
	}

	@Test
	@DisplayName("A late copy of a release does not revive an ended next token")
	void lateReleaseDoesNotReviveNext() {
		granted(acquire(this.a, "1", LIMIT));
		granted(succeed(this.a, "1", command(this.a, "2", 1)).next());
		release(this.a, "2", 1);
		assertThat(succeed(this.a, "1", command(this.a, "2", 1))).isEqualTo(new ReleaseReply(false, null, true));
		assertThat(state()).isEqualTo(UNUSED);
	}

	@Test
	@DisplayName("A copy of a release repeats the answer for the next token, which keeps its place")
	void repeatedReleaseTellsNext() {
		granted(acquire(this.a, "1", LIMIT));
		Granted first = granted(succeed(this.a, "1", command(this.a, "2", 3)).next());
		ReleaseReply again = succeed(this.a, "1", command(this.a, "2", 3));
		assertThat(again.released()).isFalse();
		assertThat(granted(again.next()).fence()).isEqualTo(first.fence());
		assertThat(state().used()).isEqualTo(3);
		busy(acquire(this.b, "1", LIMIT));
		busy(this.a.release(SEMAPHORE, command(this.a, "2", 3), command(this.a, "3", 1)).next());
		busy(acquire(this.c, "1", 1));
		busy(this.a.release(SEMAPHORE, command(this.a, "2", 3), command(this.a, "3", 1)).next());
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(5, 2);
		release(this.b, "1", LIMIT);
		assertThat(this.c.awaitWakeUp().fence()).isGreaterThan(this.a.awaitWakeUp().fence());
	}

	@Test
	@DisplayName("A next token with an earlier question is neither queued nor granted twice")
	void nextThatHasAskedIsNotCountedTwice() {
		granted(acquire(this.a, "1", 2));
		granted(acquire(this.a, "2", 2));
		granted(this.a.release(SEMAPHORE, command(this.a, "1", 2), command(this.a, "2", 2)).next());
		assertThat(holders(SEMAPHORE)).containsExactly(this.a.token("2") + " 2");
		granted(acquire(this.a, "3", 3));
		busy(acquire(this.a, "4", 4));
		busy(acquire(this.b, "1", 1));
		busy(this.a.release(SEMAPHORE, command(this.a, "2", 2), command(this.a, "4", 4)).next());
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(3, 2);
		Granted served = granted(this.a.release(SEMAPHORE, command(this.a, "3", 3), command(this.a, "4", 4)).next());
		assertThat(served.ttlMillis()).isGreaterThan(CLAIM);
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(5, 0);
	}

	@Test
	@DisplayName("Released permits go to waiters if the next token already holds permits")
	void permitsOfNextGoToWaiters() {
		granted(acquire(this.a, "1", 3));
		granted(acquire(this.a, "2", 2));
		busy(acquire(this.b, "1", 3));
		granted(this.a.release(SEMAPHORE, command(this.a, "1", 3), command(this.a, "2", 2)).next());
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(5, 0);
	}

	@Test
	@DisplayName("An unknown or ended token brings in no next token, but serves waiters")
	void unknownTokenBringsInNoNext() {
		granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "1", LIMIT))));
		busy(acquire(this.b, "1", 1));
		assertThat(succeed(this.a, "9", command(this.a, "2", 1))).isEqualTo(new ReleaseReply(false, null, true));
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(5, 1);
		elapse(MORE_THAN_SHORT);
		assertThat(succeed(this.a, "1", command(this.a, "2", 1))).isEqualTo(new ReleaseReply(false, null, true));
		this.b.awaitWakeUp();
		assertThat(holders(SEMAPHORE)).containsExactly(this.b.token("1") + " 1");
	}

	@Test
	@DisplayName("A busy answer has the end of the first lease, also after grants by the same question")
	void tellsFirstEndAfterGrants() {
		granted(acquire(this.a, "1", 3));
		busy(this.b.acquire(SEMAPHORE, brief(command(this.b, "1", LIMIT))));
		busy(acquire(this.c, "1", 2));
		elapse(STALE);
		assertThat(busy(acquire(this.a, "2", 1)).ownerTtlMillis()).isBetween(1L, CLAIM);
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("1"));
	}

	@Test
	@DisplayName("A forced release hands permits of several instances to waiters, and notifies the instances")
	void endsTogether() {
		granted(acquire(this.a, "1", 1));
		granted(acquire(this.a, "2", 2));
		granted(acquire(this.b, "1", 1));
		long last = granted(acquire(this.b, "2", 1)).fence();
		busy(acquire(this.c, "1", 4));
		busy(acquire(this.c, "2", 1));
		List<String> all = List.of(this.a.token("2"), this.b.token("9"), this.b.token("1"), this.b.token("2"));
		assertThat(get(this.b.store.force(SEMAPHORE, all))).containsExactly(true, false, true, true);
		assertThat(holders(SEMAPHORE)).containsExactlyInAnyOrder(this.a.token("1") + " 1", this.c.token("1") + " 4");
		assertThat(state().waiting()).isEqualTo(1);
		long next = this.a.awaitEnded("2");
		assertThat(this.b.awaitEnded("1")).isEqualTo(next);
		assertThat(this.b.awaitEnded("2")).isEqualTo(next);
		WakeUp granted = this.c.awaitWakeUp();
		assertThat(next).as("above the former fences, not above the next")
			.isGreaterThan(last)
			.isLessThanOrEqualTo(granted.fence());
		assertThat(get(this.b.store.force(SEMAPHORE, all))).containsExactly(false, false, false, false);
		assertThat(release(this.a, "1", 1)).isTrue();
		assertThat(state().used()).isEqualTo(5);
		assertThat(this.a.ended).containsOnlyKeys(this.a.token("2"));
		assertThat(this.b.ended).containsOnlyKeys(this.b.token("1"), this.b.token("2"));
	}

}
