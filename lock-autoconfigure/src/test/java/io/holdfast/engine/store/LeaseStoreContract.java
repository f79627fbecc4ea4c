package io.holdfast.engine.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import static io.holdfast.engine.Locks.lock;
import static io.holdfast.engine.Locks.renewal;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * Contract of every {@link LeaseStore} for locks and permits: holders, and the waiters
 * and hand-over of whole resources.
 */
public abstract class LeaseStoreContract extends StoreContract {

	private static List<String> tokens(Standing standing) {
		return standing.holders().stream().map(TokenState::token).toList();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("S10 a free resource is granted for the lease time, with a fence")
	void grantsWhatIsFree(Share share) {
		Granted granted = granted(this.a.acquire(share, "1"));
		assertThat(granted.fence()).isPositive();
		assertThat(granted.ttlMillis()).isBetween(LEASE - 1000, LEASE);
		Standing state = this.b.inspect(share);
		assertThat(tokens(state)).containsExactly(this.a.token("1"));
		assertThat(state.holders().get(0).ttlMillis()).isBetween(LEASE - 5000, LEASE);
		assertThat(state.waiting()).isZero();
		if (share != Share.PERMITS) {
			assertThat(state.ttlMillis()).isBetween(LEASE - 5000, LEASE);
			assertThat(state.fence()).isEqualTo(granted.fence());
		}
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A repeated acquire of a token is the same grant, and never shortens the lease")
	void acquireIsIdempotent(Share share) {
		Granted first = granted(this.a.acquire(share, "1"));
		Granted second = granted(this.a.acquireBriefly(share, "1"));
		if (share == Share.EXCLUSIVE) {
			assertThat(second.fence()).isEqualTo(first.fence());
		}
		assertThat(second.fence()).isGreaterThanOrEqualTo(first.fence());
		assertThat(second.ttlMillis()).isGreaterThan(SHORT);
		assertThat(this.a.inspect(share).holders().get(0).ttlMillis()).isGreaterThan(SHORT);
		granted(this.a.acquire(share.resource(), share.command(this.a.token("1"), 2 * LEASE, CLAIM)));
		assertThat(this.a.inspect(share).holders().get(0).ttlMillis()).isGreaterThan(LEASE);
		assertThat(this.a.inspect(share).used()).isEqualTo((share == Share.PERMITS) ? share.permits() : 0);
		assertThat(this.a.release(share, "1").released()).isTrue();
		assertThat(tokens(this.b.inspect(share))).isEmpty();
	}

	@Test
	@DisplayName("Fences grow with each grant by more than the hand-overs within an instance")
	void fencesGrow() {
		long last = 0;
		for (int i = 0; i < 20; i++) {
			Instance instance = (i % 2 == 0) ? this.a : this.b;
			Granted granted = granted(instance.acquire("" + i));
			assertThat(granted.fence()).isGreaterThanOrEqualTo(last + 64);
			last = granted.fence();
			instance.release("" + i);
		}
	}

	@Test
	@DisplayName("Fences run ahead of the clock by at most 64 for each grant")
	void fencesStayNearTheClock() {
		int count = 200;
		Granted first = granted(this.a.acquire("1"));
		this.a.release("1");
		List<CompletableFuture<AcquireReply>> answers = new ArrayList<>();
		// Without waiting for answers, so that the clock advances by less than 64 for
		// each grant.
		for (int i = 2; i < count; i++) {
			AcquireCommand command = Commands.forLock(this.a.token("" + i), LEASE, CLAIM);
			answers.add(this.a.store.acquire(lock(KEY), command, true));
			this.a.store.release(lock(KEY), command, null);
		}
		List<Granted> grants = answers.stream().map((answer) -> granted(get(answer))).toList();
		long clock = granted(this.a.acquire(lock("another"), Commands.forLock(this.a.token("1"), LEASE, CLAIM)))
			.fence();
		long last = first.fence();
		for (Granted grant : grants) {
			assertThat(grant.fence()).isGreaterThanOrEqualTo(last + 64);
			last = grant.fence();
		}
		assertThat(last).isLessThan(clock + 64 * count);
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A second request learns the holder's time and fence")
	void tellsBusy(Share share) {
		Granted granted = granted(this.a.acquire(share.whole(), "1"));
		Busy busy = busy(this.b.acquire(share, "1"));
		assertThat(busy.ownerTtlMillis()).isBetween(LEASE - 5000, LEASE);
		assertThat(busy.fence()).isEqualTo(granted.fence());
		assertThat(busy.foreign()).isFalse();
	}

	@Test
	@DisplayName("A foreign owner is reported as foreign, and excludes other owners until its end")
	void respectsForeignOwner() {
		putForeign(KEY, "stranger", Duration.ofMillis(SHORT));
		Busy busy = busy(this.a.acquire("1"));
		assertThat(busy.foreign()).isTrue();
		assertThat(busy.ownerTtlMillis()).isBetween(0L, SHORT);
		assertThat(this.a.inspect().owner()).isEqualTo("stranger");
		elapse(Duration.ofMillis(SHORT + 20));
		granted(this.a.acquire("1"));
	}

	@Test
	@DisplayName("A second request gets a fence to detect old hand-offs, also behind a foreign owner")
	void tellsAFenceBehindForeignOwner() {
		Granted before = granted(this.a.acquire("1"));
		this.a.release("1");
		elapse(Duration.ofMillis(5));
		putForeign(KEY, "stranger", Duration.ofMillis(SHORT));
		Busy busy = busy(this.b.acquire("1"));
		assertThat(busy.fence()).isGreaterThanOrEqualTo(before.fence());
		elapse(Duration.ofMillis(SHORT + 20));
		assertThat(granted(this.b.acquire("1")).fence()).isGreaterThan(busy.fence());
	}

	@Test
	@DisplayName("S2 a foreign owner without an end is reported as foreign and left alone")
	void leavesOwnerWithoutEndAlone() {
		putForeign(KEY, this.a.id.substring(1) + "x:1", null);
		Busy busy = busy(this.a.acquire("1"));
		assertThat(busy.foreign()).isTrue();
		assertThat(busy.ownerTtlMillis()).isEqualTo(-1);
		assertThat(this.a.release("1").released()).isFalse();
		assertThat(this.a.inspect().ttlMillis()).isEqualTo(-1);
	}

	@ParameterizedTest
	@CsvSource({ "EXCLUSIVE, EXCLUSIVE", "EXCLUSIVE, READER", "READER, EXCLUSIVE", "PERMITS, PERMITS" })
	@DisplayName("S11, S13 F43 a lease ends by the time of the store: it excludes no owner, is not renewed, and its"
			+ " release does not affect the next holder")
	void endsByTime(Share share, Share nextShare) {
		Granted first = granted(this.a.acquireBriefly(share, "1"));
		assertThat(busy(this.b.attempt(nextShare, "1")).ownerTtlMillis()).isBetween(0L, SHORT);
		elapse(Duration.ofMillis(SHORT + 20));
		assertThat(this.a.inspect(share)).extracting(Standing::holderCount, Standing::used, Standing::ttlMillis)
			.containsExactly(0, 0, 0L);
		assertThat(this.a.renew(share, "1", LEASE)).isFalse();
		Granted second = granted(this.b.acquire(nextShare, "1"));
		assertThat(second.fence()).isGreaterThan(first.fence());
		assertThat(this.a.renew(share, "1", LEASE)).isFalse();
		assertThat(this.a.release(share, "1").released()).isFalse();
		assertThat(tokens(this.a.inspect(share))).containsExactly(this.b.token("1"));
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A release succeeds once")
	void releasesOnce(Share share) {
		granted(this.a.acquire(share, "1"));
		assertThat(this.b.release(share, "1").released()).isFalse();
		assertThat(this.a.release(share, "1")).isEqualTo(new ReleaseReply(true, null, true));
		assertThat(this.a.release(share, "1")).isEqualTo(new ReleaseReply(false, null, true));
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("S12 a renewal may extend a lease, but never shortens a lease, and does not make a waiter a holder")
	void renewsByLengthening(Share share) {
		granted(this.a.acquire(share, "1"));
		assertThat(this.a.renew(share, "1", 2 * LEASE)).isTrue();
		assertThat(this.a.inspect(share).holders().get(0).ttlMillis()).isGreaterThan(LEASE);
		assertThat(this.a.renew(share, "1", SHORT)).isTrue();
		assertThat(this.a.inspect(share).holders().get(0).ttlMillis()).isGreaterThan(LEASE);
		assertThat(this.b.renew(share, "1", LEASE)).isFalse();
		busy(this.b.acquire(share.whole(), "2"));
		assertThat(this.b.renew(share.whole(), "2", LEASE)).isFalse();
		assertThat(tokens(this.b.inspect(share))).containsExactly(this.a.token("1"));
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A retained lease ends at the given time, earlier or later than before")
	void retains(Share share) {
		Resource resource = share.resource();
		granted(this.a.acquire(share, "1"));
		busy(this.b.acquire(share.whole(), "1"));
		assertThat(this.b.retain(resource, "1", share.permits(), SHORT)).isFalse();
		assertThat(this.a.retain(resource, "1", share.permits(), 2 * LEASE)).isTrue();
		assertThat(this.a.inspect(share).holders().get(0).ttlMillis()).isGreaterThan(LEASE);
		assertThat(this.a.retain(resource, "1", share.permits(), SHORT)).isTrue();
		assertThat(this.a.inspect(share).holders().get(0).ttlMillis()).isLessThanOrEqualTo(SHORT);
		elapse(Duration.ofMillis(SHORT + 20));
		assertThat(this.a.retain(resource, "1", share.permits(), LEASE)).isFalse();
		granted(this.b.acquire(share.whole(), "1"));
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A token can be released without knowledge of its share, and so can the token of a waiter")
	void endsUnknown(Share share) {
		granted(this.a.acquire(share, "1"));
		busy(this.b.acquire(share.whole(), "1"));
		busy(this.b.acquire(share.whole(), "2"));
		assertThat(this.c.release(share.resource(), AcquireCommand.unknown(this.b.token("1"), LEASE))).isFalse();
		assertThat(this.a.inspect(share).waiting()).isEqualTo(1);
		assertThat(this.c.release(share.resource(), AcquireCommand.unknown(this.a.token("1"), LEASE))).isTrue();
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("2"));
		assertThat(this.c.release(share.resource(), AcquireCommand.unknown(this.a.token("1"), LEASE))).isFalse();
		assertThat(tokens(this.a.inspect(share))).containsExactly(this.b.token("2"));
	}

	@Test
	@DisplayName("Many renewals are answered in order, with lost leases among held leases")
	void renewsManyInOrder() {
		List<CompletableFuture<AcquireReply>> acquired = new ArrayList<>();
		List<Renewal> renewals = new ArrayList<>();
		List<Boolean> expected = new ArrayList<>();
		for (int i = 0; i < 1100; i++) {
			boolean kept = i % 7 != 0;
			if (kept) {
				acquired.add(this.a.store.acquire(lock("many" + i),
						Commands.forLock(this.a.token("" + i), LEASE, CLAIM), true));
			}
			renewals.add(renewal("many" + i, this.a.token("" + i), LEASE));
			expected.add(kept);
		}
		acquired.forEach(LeaseStoreContract::get);
		assertThat(this.a.renew(renewals)).isEqualTo(expected);
	}

	// Waiters and hand-over

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

	@ParameterizedTest
	@EnumSource
	@DisplayName("A hand-off becomes a full lease with the same fence when its token asks")
	void handOffBecomesLease(Share share) {
		granted(this.a.acquire(share.whole(), "1"));
		busy(this.b.acquire(share, "1"));
		this.a.release(share.whole(), "1");
		WakeUp wakeUp = this.b.awaitWakeUp();
		Granted granted = granted(this.b.acquire(share, "1"));
		assertThat(granted.fence()).isEqualTo(wakeUp.fence());
		assertThat(granted.ttlMillis()).isGreaterThan(CLAIM);
		assertThat(this.b.inspect(share).holders().get(0).ttlMillis()).isGreaterThan(CLAIM);
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

	@ParameterizedTest
	@EnumSource
	@DisplayName("A request without waiting gets no hand-off")
	void doesNotQueueUnasked(Share share) {
		granted(this.a.acquire(share.whole(), "1"));
		busy(this.b.attempt(share, "1"));
		assertThat(this.a.inspect(share).waiting()).isZero();
		this.a.release(share.whole(), "1");
		assertThat(this.a.inspect(share).isEmpty()).isTrue();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A request for an expired resource hands the resource to the first waiter")
	void handsExpiredKeyToHeadOfQueue(Share share) {
		granted(this.a.acquireBriefly(share.whole(), "1"));
		busy(this.b.acquire(share, "1"));
		elapse(Duration.ofMillis(SHORT + 20));
		busy(this.c.acquire(share.whole(), "1"));
		assertThat(this.b.awaitWakeUp()).extracting(WakeUp::resource, WakeUp::token)
			.containsExactly(share.resource(), this.b.token("1"));
		assertHolder(share, this.b.token("1"));
	}

	private void assertHolder(Share share, String token) {
		assertThat(this.a.inspect(share).holders()).extracting(TokenState::token, TokenState::permits)
			.containsExactly(tuple(token, share.permits()));
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("The next token of an instance gets the resource with the release, if there is no waiter")
	void releasesToNext(Share share) {
		Granted first = granted(this.a.acquire(share.whole(), "1"));
		ReleaseReply reply = this.a.release("1", share, "2");
		assertThat(reply.released()).isTrue();
		Granted next = granted(reply.next());
		assertThat(next.fence()).isGreaterThan(first.fence());
		assertThat(next.ttlMillis()).isBetween(LEASE - 1000, LEASE);
		assertHolder(share, this.a.token("2"));
		assertThat(this.a.wakeUps).isEmpty();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("The next token of an instance goes to the end of the queue")
	void queuesNextAtTail(Share share) {
		granted(this.a.acquire(share.whole(), "1"));
		busy(this.b.acquire(share.whole(), "1"));
		busy(this.c.acquire(share.whole(), "1"));
		ReleaseReply reply = this.a.release("1", share, "2");
		assertThat(reply.released()).isTrue();
		Busy next = busy(reply.next());
		assertThat(next.fence()).isEqualTo(this.b.awaitWakeUp().fence());
		assertThat(next.ownerTtlMillis()).isBetween(1L, CLAIM);
		assertThat(next.foreign()).isFalse();
		this.b.release(share.whole(), "1");
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("1"));
		this.c.release(share.whole(), "1");
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

	@ParameterizedTest
	@EnumSource
	@DisplayName("A late copy of a release does not revive an ended next token")
	void lateReleaseDoesNotReviveNext(Share share) {
		granted(this.a.acquire(share.whole(), "1"));
		granted(this.a.release("1", share, "2").next());
		this.a.release(share, "2");
		assertThat(this.a.release("1", share, "2")).isEqualTo(new ReleaseReply(false, null, true));
		assertThat(this.a.inspect(share).isEmpty()).isTrue();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A copy of a release repeats the answer for the next token")
	void repeatedReleaseTellsNext(Share share) {
		granted(this.a.acquire(share.whole(), "1"));
		Granted first = granted(this.a.release("1", share, "2").next());
		ReleaseReply again = this.a.release("1", share, "2");
		assertThat(again.released()).isFalse();
		if (share != Share.READER) {
			assertThat(granted(again.next()).fence()).isEqualTo(first.fence());
		}
		assertThat(granted(again.next()).fence()).isGreaterThanOrEqualTo(first.fence());
		assertHolder(share, this.a.token("2"));
	}

	@Test
	@DisplayName("An unknown token brings in no next token")
	void unknownTokenBringsInNoNext() {
		granted(this.b.acquire("1"));
		assertThat(this.a.release("1", "2")).isEqualTo(new ReleaseReply(false, null, true));
		assertThat(this.b.inspect().waiting()).isZero();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("Waiters of an absent instance are passed over")
	void passesOverAbsentInstance(Share share) {
		assumeTrue(detectsAbsence());
		granted(this.a.acquire(share.whole(), "1"));
		busy(this.b.acquire(share, "1"));
		busy(this.b.acquire(share.whole(), "2"));
		busy(this.c.acquire(share, "1"));
		leave(this.b);
		this.a.release(share.whole(), "1");
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("1"));
		assertHolder(share, this.c.token("1"));
		assertThat(this.a.inspect(share).waiting()).isZero();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A request for an expired resource is granted if all waiters are absent")
	void requestFollowsAbsentInstances(Share share) {
		assumeTrue(detectsAbsence());
		granted(this.a.acquireBriefly(share.whole(), "1"));
		busy(this.b.acquire(share.whole(), "1"));
		leave(this.b);
		elapse(Duration.ofMillis(SHORT + 20));
		granted(this.c.acquire(share, "1"));
		assertHolder(share, this.c.token("1"));
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("The next token gets the resource with the release if all waiters are absent")
	void nextFollowsAbsentInstances(Share share) {
		assumeTrue(detectsAbsence());
		granted(this.a.acquire(share.whole(), "1"));
		busy(this.b.acquire(share.whole(), "1"));
		leave(this.b);
		granted(this.a.release("1", share, "2").next());
		assertHolder(share, this.a.token("2"));
		assertThat(this.a.inspect(share).waiting()).isZero();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A released resource is free if all waiters are absent")
	void freesKeyIfAllAreAbsent(Share share) {
		assumeTrue(detectsAbsence());
		granted(this.a.acquire(share.whole(), "1"));
		busy(this.b.acquire(share, "1"));
		leave(this.b);
		this.a.release(share.whole(), "1");
		assertThat(this.a.inspect(share).isEmpty()).isTrue();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A polling waiter never counts as absent, and keeps its place when it starts to poll")
	void neverPassesOverPollingWaiter(Share share) {
		LeaseStore polling = newPollingStore();
		AcquireCommand moved = share.command(this.b.token("1"), LEASE, CLAIM);
		granted(this.a.acquire(share.whole(), "1"));
		busy(this.b.acquire(share, "1"));
		busy(this.c.acquire(share.whole(), "1"));
		busy(get(polling.acquire(share.resource(), moved, true)));
		busy(get(polling.acquire(share.resource(), moved, true)));
		busy(get(polling.acquire(share.resource(), share.command(this.b.token("2"), LEASE, CLAIM), true)));
		assertThat(polling.isListening()).isFalse();
		assertThat(this.a.inspect(share).waiting()).isEqualTo(3);
		leave(this.b);
		this.a.release(share.whole(), "1");
		assertHolder(share, this.b.token("1"));
		assertThat(this.c.wakeUps).isEmpty();
		assertThat(get(polling.release(share.resource(), moved, null)).released()).isTrue();
		this.c.awaitWakeUp();
		this.c.release(share.whole(), "1");
		assertHolder(share, this.b.token("2"));
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
