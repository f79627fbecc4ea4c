package io.holdfast.engine.store;

import java.util.List;

import io.holdfast.engine.store.LeaseStore.AcquireReply.Rejected;
import io.holdfast.engine.store.LeaseStore.Standing;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Contract of every {@link LeaseStore} for the limits of semaphores, of requests and of
 * an operator. See {@link PermitStoreContract}.
 */
abstract class PermitLimitContract extends PermitQueueContract {

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

}
