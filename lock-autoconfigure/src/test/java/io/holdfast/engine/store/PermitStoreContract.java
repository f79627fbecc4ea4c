package io.holdfast.engine.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Rejected;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * Contract of every {@link LeaseStore} for permits of semaphores: holders, waiters, and
 * the limits of requests and of an operator.
 */
public abstract class PermitStoreContract extends StoreContract {

	protected static final Resource SEMAPHORE = new Resource(Kind.SEMAPHORE, KEY);

	protected static final Standing UNUSED = Standing.unused(SEMAPHORE);

	/** Default limit of requests. */
	protected static final int LIMIT = 5;

	/** Time after which a short lease has ended. */
	protected static final Duration MORE_THAN_SHORT = Duration.ofMillis(SHORT + 20);

	protected static AcquireCommand command(Instance instance, String n, int permits) {
		return command(instance, n, permits, LIMIT);
	}

	protected static AcquireCommand command(Instance instance, String n, int permits, int limit) {
		return new AcquireCommand(instance.token(n), permits, limit, true, LEASE, CLAIM);
	}

	protected static AcquireCommand unfair(AcquireCommand command) {
		return new AcquireCommand(command.token(), command.permits(), command.limit(), false, command.leaseMillis(),
				command.claimMillis());
	}

	/** Return the command with a short lease. */
	protected static AcquireCommand brief(AcquireCommand command) {
		return new AcquireCommand(command.token(), command.permits(), command.limit(), command.fair(), SHORT, SHORT);
	}

	protected static AcquireReply acquire(Instance instance, String n, int permits) {
		return instance.acquire(SEMAPHORE, command(instance, n, permits));
	}

	protected static boolean release(Instance instance, String n, int permits) {
		return instance.release(SEMAPHORE, command(instance, n, permits));
	}

	protected static boolean renew(Instance instance, Resource resource, String n, int permits, long leaseMillis) {
		Renewal renewal = new Renewal(resource, instance.token(n), permits, leaseMillis);
		return get(instance.store.renew(List.of(renewal))).get(0);
	}

	protected Standing state() {
		return this.a.permits(SEMAPHORE);
	}

	/** Return the holders with their numbers of permits. */
	protected List<String> holders(Resource resource) {
		return this.a.permits(resource)
			.holders()
			.stream()
			.map((holder) -> holder.token() + " " + holder.permits())
			.sorted()
			.toList();
	}

	@Test
	@DisplayName("A busy answer has the number of permits in use and the limit")
	void tellsUse() {
		granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "1", 2))));
		granted(acquire(this.b, "1", 2));
		assertThat(busy(acquire(this.c, "1", 2))).extracting(Busy::held, Busy::limit, Busy::owner)
			.containsExactly(4, LIMIT, null);
		assertThat(busy(this.c.attempt(SEMAPHORE, command(this.c, "2", 3, 4))))
			.extracting(Busy::held, Busy::limit, Busy::owner)
			.containsExactly(4, 4, null);
		get(this.a.store.limit(SEMAPHORE, 3));
		assertThat(busy(this.c.attempt(SEMAPHORE, command(this.c, "3", 1)))).extracting(Busy::held, Busy::limit)
			.containsExactly(4, 3);
		get(this.a.store.limit(SEMAPHORE, 2));
		elapse(MORE_THAN_SHORT);
		assertThat(busy(this.c.attempt(SEMAPHORE, command(this.c, "4", 1)))).extracting(Busy::held, Busy::limit)
			.containsExactly(2, 2);
	}

	@Test
	@DisplayName("A busy answer has the end of the first lease, without expired leases")
	void tellsFirstEnd() {
		granted(this.b.acquire(SEMAPHORE, brief(command(this.b, "1", 1))));
		granted(acquire(this.a, "1", 2));
		elapse(MORE_THAN_SHORT);
		assertThat(busy(this.c.attempt(SEMAPHORE, command(this.c, "1", 4))).ownerTtlMillis()).isBetween(LEASE - 5000,
				LEASE);
		granted(this.b.acquire(SEMAPHORE, new AcquireCommand(this.b.token("2"), 3, LIMIT, true, 10_000, CLAIM)));
		assertThat(busy(acquire(this.c, "1", 1)).ownerTtlMillis()).isBetween(1L, 10_000L);
	}

	@Test
	@DisplayName("Two semaphores are independent, and so are a semaphore and a lock of the same name")
	void keysAreIndependent() {
		granted(acquire(this.a, "1", LIMIT));
		granted(this.b.acquire(new Resource(Kind.SEMAPHORE, "another"), command(this.b, "1", LIMIT)));
		granted(this.c.acquire("1"));
		granted(this.b.acquire(new Resource(Kind.LOCK, "another"), Commands.forLock(this.b.token("2"), LEASE, CLAIM)));
	}

	@Test
	@DisplayName("A request above the limit is rejected with the limit")
	void refusesTooMany() {
		assertThat(acquire(this.a, "1", LIMIT + 1)).isEqualTo(new Rejected(LIMIT));
		assertThat(this.a.attempt(SEMAPHORE, command(this.a, "1", LIMIT + 1))).isEqualTo(new Rejected(LIMIT));
		assertThat(state()).isEqualTo(UNUSED);
	}

	@Test
	@DisplayName("F43 double, foreign and late releases never create permits")
	void releasesOnce() {
		granted(acquire(this.a, "1", 3));
		granted(this.b.acquire(SEMAPHORE, brief(command(this.b, "1", 2))));
		assertThat(release(this.c, "1", 3)).isFalse();
		assertThat(state().used()).isEqualTo(5);
		assertThat(release(this.a, "1", 3)).isTrue();
		assertThat(release(this.a, "1", 3)).isFalse();
		elapse(MORE_THAN_SHORT);
		granted(acquire(this.c, "1", 4));
		assertThat(release(this.b, "1", 2)).isFalse();
		assertThat(state().used()).isEqualTo(4);
		busy(acquire(this.a, "2", 2));
	}

	@Test
	@DisplayName("Renewed permits outlast the time of their grant")
	void renewedOutlivesGrant() {
		granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "1", 2))));
		assertThat(renew(this.a, SEMAPHORE, "1", 2, LEASE)).isTrue();
		elapse(MORE_THAN_SHORT.plus(MORE_THAN_SHORT));
		assertThat(holders(SEMAPHORE)).containsExactly(this.a.token("1") + " 2");
		assertThat(release(this.a, "1", 2)).isTrue();
	}

	@Test
	@DisplayName("Each lease of a renewal is renewed for its own time")
	void renewsEachForItsOwnTime() {
		Resource other = new Resource(Kind.SEMAPHORE, "other");
		granted(acquire(this.a, "1", 2));
		granted(this.a.acquire(other, command(this.a, "2", 1)));
		assertThat(this.a.renew(List.of(new Renewal(SEMAPHORE, this.a.token("1"), 2, 2 * LEASE),
				new Renewal(other, this.a.token("2"), 1, 4 * LEASE))))
			.containsExactly(true, true);
		assertThat(state().holders().get(0).ttlMillis()).isBetween(LEASE + 1L, 2L * LEASE);
		assertThat(this.b.permits(other).holders().get(0).ttlMillis()).isBetween(2L * LEASE + 1, 4L * LEASE);
	}

	@Test
	@DisplayName("Many renewals are answered in order, with lost leases among held leases of the same semaphore")
	void renewsManyInOrder() {
		List<Renewal> renewals = new ArrayList<>();
		List<Boolean> expected = new ArrayList<>();
		for (int i = 0; i < 300; i++) {
			Resource resource = new Resource(Kind.SEMAPHORE, "many" + i / 3);
			boolean kept = i % 7 != 0;
			if (kept) {
				granted(this.a.acquire(resource, command(this.a, "" + i, 1)));
			}
			renewals.add(new Renewal(resource, this.a.token("" + i), 1, 2 * LEASE));
			expected.add(kept);
		}
		assertThat(this.a.renew(renewals)).isEqualTo(expected);
		Standing state = this.b.permits(new Resource(Kind.SEMAPHORE, "many1"));
		assertThat(state.holders()).hasSize(3).allMatch((holder) -> holder.ttlMillis() > LEASE);
		assertThat(get(this.a.store.renew(List.of()))).isEmpty();
	}

	@Test
	@DisplayName("Limits and requests may be large")
	void countsLargeNumbers() {
		for (int i = 0; i < 20; i++) {
			granted(this.a.acquire(SEMAPHORE, command(this.a, "" + i, 5_000, 100_000)));
		}
		busy(this.b.acquire(SEMAPHORE, command(this.b, "1", 5_000, 100_000)));
		assertThat(this.b.acquire(SEMAPHORE, command(this.b, "2", 100_001, 100_000))).isEqualTo(new Rejected(100_000));
		assertThat(state()).extracting(Standing::used, Standing::holderCount, Standing::waiting)
			.containsExactly(100_000, 20, 1);
		assertThat(release(this.a, "8", 5_000)).isTrue();
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
		assertThat(state().used()).isEqualTo(100_000);
	}

	// Waiters

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
		busy(this.c.attempt(SEMAPHORE, unfair(command(this.c, "3", 2 + 1))));
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

	// Limits

	/** Return the state of an unused semaphore with an operator's limit. */
	private static Standing limited(int limit) {
		return new Standing(SEMAPHORE, 0, 0, limit, 0, 0, 0, List.of(), 0, List.of());
	}

	@Test
	@DisplayName("Each request is decided by its own limit, in the order of arrival")
	void judgesByOwnLimit() {
		granted(acquire(this.a, "1", 4));
		granted(this.b.acquire(SEMAPHORE, command(this.b, "1", 3, 10)));
		granted(this.b.acquire(SEMAPHORE, command(this.b, "3", 1, 10)));
		assertThat(state()).extracting(Standing::asked, Standing::used).containsExactly(10, 8);
		busy(acquire(this.a, "2", 2));
		busy(this.b.acquire(SEMAPHORE, command(this.b, "2", 2, 10)));
		assertThat(acquire(this.c, "1", 6)).isEqualTo(new Rejected(5));
		assertThat(release(this.a, "1", 4)).isTrue();
		// The first waiter lacks a permit. The second waiter would fit, but is behind the
		// first.
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(4, 2);
		assertThat(release(this.b, "3", 1)).isTrue();
		assertThat(this.a.awaitWakeUp().token()).isEqualTo(this.a.token("2"));
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("2"));
		assertThat(state().used()).isEqualTo(7);
	}

	@Test
	@DisplayName("An operator's limit overrides the limits of requests until its removal")
	void operatorLimitComesFirst() {
		assertThat(limit(3)).isFalse();
		assertThat(state()).isEqualTo(limited(3));
		assertThat(acquire(this.b, "1", 4)).isEqualTo(new Rejected(3));
		granted(acquire(this.b, "2", 3));
		busy(this.c.attempt(SEMAPHORE, command(this.c, "1", 1)));
		assertThat(limit(8)).isTrue();
		granted(this.c.acquire(SEMAPHORE, command(this.c, "2", 5)));
		assertThat(state().used()).isEqualTo(8);
		assertThat(limit(null)).isTrue();
		assertThat(limit(null)).isFalse();
		assertThat(acquire(this.b, "3", 6)).isEqualTo(new Rejected(5));
		busy(acquire(this.b, "4", 1));
		limit(Resource.ALL);
		assertThat(state().limit()).isEqualTo(Resource.ALL);
		granted(acquire(this.b, "5", 100));
	}

	@Test
	@DisplayName("A limit of 0 admits no request, and stays at an unused semaphore")
	void limitMayBeZero() {
		granted(acquire(this.a, "1", 2));
		limit(0);
		assertThat(acquire(this.b, "1", 1)).isEqualTo(new Rejected(0));
		assertThat(renew(this.a, SEMAPHORE, "1", 2, LEASE)).isTrue();
		granted(acquire(this.a, "1", 2));
		assertThat(release(this.a, "1", 2)).isTrue();
		assertThat(state()).isEqualTo(limited(0));
		assertThat(acquire(this.a, "2", 1)).isEqualTo(new Rejected(0));
	}

	@Test
	@DisplayName("A raised or removed limit grants permits to waiters")
	void raisedLimitWakesUp() {
		limit(2);
		granted(acquire(this.a, "1", 2));
		busy(acquire(this.b, "1", 1));
		busy(acquire(this.c, "1", 1));
		limit(3);
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(3, 1);
		limit(null);
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("1"));
		assertThat(state().used()).isEqualTo(4);
	}

	@Test
	@DisplayName("Setting a limit grants expired permits to waiters")
	void limitNoticesEnd() {
		granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "1", LIMIT))));
		busy(acquire(this.b, "1", 1));
		elapse(MORE_THAN_SHORT);
		limit(LIMIT);
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
		assertThat(state().used()).isEqualTo(1);
	}

	@Test
	@DisplayName("A lowered limit revokes nothing, and takes effect with releases")
	void loweredLimitRevokesNothing() {
		granted(acquire(this.a, "1", 3));
		granted(acquire(this.a, "2", 1));
		granted(acquire(this.a, "3", 1));
		busy(acquire(this.b, "1", 1));
		limit(2);
		assertThat(state()).extracting(Standing::limit, Standing::used).containsExactly(2, 5);
		assertThat(renew(this.a, SEMAPHORE, "1", 3, LEASE)).isTrue();
		granted(acquire(this.a, "1", 3));
		assertThat(release(this.a, "1", 3)).isTrue();
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(2, 1);
		assertThat(release(this.a, "3", 1)).isTrue();
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(2, 0);
	}

	@Test
	@DisplayName("A waiter above a lowered limit is woken up to ask again, and is rejected")
	void loweredLimitRefuses() {
		granted(acquire(this.a, "1", 4));
		long last = busy(acquire(this.b, "1", 4)).fence();
		busy(acquire(this.c, "1", 2));
		busy(acquire(this.b, "2", 5));
		limit(3);
		WakeUp wakeUp = this.b.awaitWakeUp();
		assertThat(wakeUp.resource()).isEqualTo(SEMAPHORE);
		assertThat(wakeUp.token()).isEqualTo(this.b.token("1"));
		assertThat(wakeUp.ttlMillis()).isZero();
		assertThat(wakeUp.fence()).isGreaterThan(last);
		assertThat(state().waiting()).isEqualTo(2);
		assertThat(acquire(this.b, "1", 4)).isEqualTo(new Rejected(3));
		// The second waiter is woken up at the head of the queue.
		release(this.a, "1", 4);
		assertThat(this.c.awaitWakeUp().ttlMillis()).isEqualTo(CLAIM);
		assertThat(this.b.awaitWakeUp(2).token()).isEqualTo(this.b.token("2"));
		assertThat(this.b.wakeUps.get(1).ttlMillis()).isZero();
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(2, 0);
	}

	@Test
	@DisplayName("A waiter that is rejected at a further question leaves the queue")
	void refusedLeavesQueue() {
		granted(acquire(this.a, "1", 4));
		busy(acquire(this.b, "1", 2));
		busy(acquire(this.b, "2", 5));
		busy(acquire(this.c, "1", 1));
		limit(4);
		assertThat(acquire(this.b, "2", 5)).isEqualTo(new Rejected(4));
		assertThat(state().waiting()).isEqualTo(2);
		release(this.a, "1", 4);
		this.c.awaitWakeUp();
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(3, 0);
	}

	@Test
	@DisplayName("A first waiter that is rejected by its own new limit makes way for later waiters")
	void refusedHeadMakesWay() {
		granted(acquire(this.a, "1", 3));
		busy(acquire(this.b, "1", 5));
		busy(acquire(this.c, "1", 2));
		assertThat(this.b.acquire(SEMAPHORE, command(this.b, "1", 5, 4))).isEqualTo(new Rejected(4));
		this.c.awaitWakeUp();
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(5, 0);
	}

	@Test
	@DisplayName("A request without a limit is rejected without an operator's limit, also while waiting")
	void limitIsLeftToTheOperator() {
		assertThat(this.a.acquire(SEMAPHORE, command(this.a, "1", 1, 0))).isEqualTo(new Rejected(0));
		assertThat(state()).isEqualTo(UNUSED);
		limit(2);
		granted(this.a.acquire(SEMAPHORE, command(this.a, "2", 2, 0)));
		busy(this.b.acquire(SEMAPHORE, command(this.b, "1", 1, 0)));
		assertThat(this.b.acquire(SEMAPHORE, command(this.b, "2", 3, 0))).isEqualTo(new Rejected(2));
		limit(3);
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
		busy(this.c.acquire(SEMAPHORE, command(this.c, "1", 1, 0)));
		busy(acquire(this.c, "2", 2));
		limit(null);
		WakeUp wakeUp = this.c.awaitWakeUp();
		assertThat(wakeUp.token()).isEqualTo(this.c.token("1"));
		assertThat(wakeUp.ttlMillis()).isZero();
		assertThat(this.c.acquire(SEMAPHORE, command(this.c, "1", 1, 0))).isEqualTo(new Rejected(0));
		assertThat(this.c.awaitWakeUp(2).token()).as("a request with a limit").isEqualTo(this.c.token("2"));
		assertThat(renew(this.a, SEMAPHORE, "2", 2, LEASE)).isTrue();
		assertThat(state()).extracting(Standing::used, Standing::waiting).containsExactly(5, 0);
	}

	private boolean limit(@Nullable Integer limit) {
		return get(this.a.store.limit(SEMAPHORE, limit));
	}

	// The next token of a release

	/** Release all permits, with a next token. */
	private ReleaseReply succeed(Instance instance, String n, AcquireCommand next) {
		return instance.release(SEMAPHORE, command(instance, n, LIMIT), next);
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
	@DisplayName("A copy of a release keeps the place of a queued next token")
	void repeatedReleaseKeepsPlaceOfNext() {
		granted(acquire(this.a, "2", 3));
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
