package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.Lease;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.testing.RedisTestCase;
import io.holdfast.testing.Slow;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.data.redis.core.script.RedisScript;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Wake-ups are lost, or impossible. That costs time, and never a turn.
 */
class WakeUpTests extends RedisTestCase {

	private static final String KEY = "wake-up";

	private static final Duration LEASE = Duration.ofMinutes(5);

	private static final Duration NEARLY_ALL = Duration.ofMinutes(4);

	/** Polls after 24 s at the earliest: an earlier grant came by a wake-up. */
	private static final String ASK_SELDOM = "holdfast.wake-up.handoff-timeout=60s";

	/** Polls after 500 ms at the latest. */
	private static final String ASK_OFTEN = "holdfast.wake-up.handoff-timeout=1s";

	private static final String POLLING = "holdfast.wake-up.mode=polling";

	/** Hands the lock to the head of the queue, as a release does, without a message. */
	private static final RedisScript<Long> SILENT_HAND_OFF = RedisScript.of("""
			local head = redis.call('ZPOPMIN', KEYS[2])[1]
			local token, claim = string.match(head, '^(%x+:%d+):(%d+):')
			redis.call('SET', KEYS[1], token, 'PX', claim)
			local last, room = string.match(redis.call('GET', KEYS[3]), '^(%d+) ?(%d*)$')
			local fence = last + (tonumber(room) or 64)
			redis.call('SET', KEYS[3], string.format('%.0f', fence), 'KEEPTTL')
			return fence
			""", Long.class);

	private Fleet fleet;

	@BeforeEach
	void open() {
		this.fleet = Fleet.on(this.redis, this.redis.startServer());
	}

	private static PoolRequest request(Pool pool) {
		return new PoolRequest(pool, KEY).waitTime(SOON).leaseTime(LEASE);
	}

	private void assertHandOff(Pool pool, Instance from, Instance to, Duration least) {
		Lease held = request(pool).acquire(from);
		CompletableFuture<Lease> waiting = request(pool).all().acquireInBackground(to);
		pool.awaitQueued(this.fleet, KEY, 1);
		assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(waiting).succeedsWithin(SOON).satisfies((lease) -> {
			assertThat(pool.leaseLeft(this.fleet, KEY)).as("remaining lease").isGreaterThan(least);
			assertThat(request(pool).tryAcquire(from)).isEmpty();
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		});
	}

	@ParameterizedTest(
			name = "F19 Subscriptions are killed, then a release: the waiter is granted, and wake-ups work again ({0})")
	@EnumSource
	void subscriptionsKilled(Pool pool) {
		Instance instance = this.fleet.start(ASK_SELDOM);
		Instance other = this.fleet.start(ASK_SELDOM);
		this.fleet.awaitListening(2);
		Lease held = request(pool).all().acquire(instance);
		CompletableFuture<Lease> waiting = request(pool).acquireInBackground(other);
		pool.awaitQueued(this.fleet, KEY, 1);
		this.fleet.killSubscriptions();
		assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(waiting).succeedsWithin(SOON).satisfies(Lease::release);
		this.fleet.awaitListening(2);
		assertHandOff(pool, instance, other, Duration.ZERO);
		assertHandOff(pool, other, instance, Duration.ZERO);
		this.fleet.awaitNothingLeft();
	}

	@Slow
	@ParameterizedTest(name = "F19 Subscriptions are killed repeatedly: every waiter has its turn ({0})")
	@EnumSource
	void subscriptionsKilledRepeatedly(Pool pool) {
		Instance instance = this.fleet.start(ASK_OFTEN);
		Instance other = this.fleet.start(ASK_OFTEN);
		for (int i = 0; i < 10; i++) {
			Lease held = request(pool).all().acquire(instance);
			CompletableFuture<Lease> waiting = request(pool).acquireInBackground(other);
			pool.awaitQueued(this.fleet, KEY, 1);
			this.fleet.awaitListening(2);
			this.fleet.killSubscriptions();
			held.close();
			assertThat(waiting).succeedsWithin(SOON).satisfies(Lease::release);
		}
		this.fleet.awaitNothingLeft();
	}

	@Slow
	@Test
	@DisplayName("F19 Subscriptions are killed, then the limit is raised: all waiters that fit have their permits")
	void limitRaised() {
		SemaphoreRequest permit = SemaphoreRequest.of(KEY, 2).waitForever().leaseTime(LEASE);
		Instance instance = this.fleet.start(ASK_SELDOM);
		Instance other = this.fleet.start(ASK_SELDOM);
		this.fleet.awaitListening(2);
		instance.semaphores().admin().setLimit(KEY, 1);
		PermitLease held = instance.acquire(permit);
		CompletableFuture<PermitLease> second = other.acquireInBackground(permit);
		Pool.SEMAPHORE.awaitQueued(this.fleet, KEY, 1);
		CompletableFuture<PermitLease> third = instance.acquireInBackground(permit);
		Pool.SEMAPHORE.awaitQueued(this.fleet, KEY, 2);
		this.fleet.killSubscriptions();
		instance.semaphores().admin().setLimit(KEY, 3);
		assertThat(second).succeedsWithin(SOON).satisfies(PermitLease::release);
		assertThat(third).succeedsWithin(SOON).satisfies(PermitLease::release);
		assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(instance.semaphores().admin().clearLimit(KEY)).isTrue();
		this.fleet.awaitNothingLeft();
	}

	@Slow
	@Test
	@DisplayName("F19 The message of a hand-off is lost: the waiter polls, and has the whole lease")
	void messageLost() {
		LockRequest request = LockRequest.of(KEY).waitForever().leaseTime(LEASE);
		LockLease held = this.fleet.start(ASK_OFTEN).acquire(request);
		CompletableFuture<LockLease> waiting = this.fleet.start(ASK_OFTEN).acquireInBackground(request);
		this.fleet.awaitQueued(KEY);
		String lockKey = this.fleet.lockKey(KEY);
		Long fence = this.fleet.observer()
			.execute(SILENT_HAND_OFF, List.of(lockKey, "{" + lockKey + "}:queue", "{" + lockKey + "}:fence"));
		assertThat(waiting).succeedsWithin(SOON).satisfies((lease) -> {
			assertThat(lease.fencingToken()).isEqualTo(fence);
			assertThat(this.fleet.timeToLive(KEY)).isGreaterThan(Duration.ofMinutes(4));
			assertThat(held.release()).as("of a lease that was taken away").isNotNull();
			assertThat(this.fleet.isLocked(KEY)).isTrue();
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		});
		this.fleet.awaitNothingLeft();
	}

	@ParameterizedTest(
			name = "Polling: hand-offs work without any subscription, and between instances with and without ({0})")
	@EnumSource
	void polling(Pool pool) {
		Instance instance = this.fleet.start(POLLING, ASK_SELDOM);
		Instance other = this.fleet.start(POLLING, ASK_SELDOM);
		assertHandOff(pool, instance, other, NEARLY_ALL);
		assertThat(this.fleet.channels()).isZero();
		Instance subscribed = this.fleet.start(ASK_SELDOM);
		this.fleet.awaitListening(1);
		assertHandOff(pool, subscribed, other, NEARLY_ALL);
		// By a wake-up: the initial length of a hand-off.
		assertHandOff(pool, instance, subscribed, Duration.ZERO);
		pool.assertAllFree(this.fleet, KEY, instance, other, subscribed);
	}

	@Slow
	@ParameterizedTest(name = "F35 Only the releasing user may not publish: the waiter is granted when it polls ({0})")
	@EnumSource
	void releaserMayNotPublish(Pool pool) {
		this.fleet.setUser("on", ">secret", "~*", "resetchannels", "+@all");
		Instance instance = this.fleet.start("spring.data.redis.username=app", "spring.data.redis.password=secret",
				ASK_OFTEN);
		Instance other = this.fleet.start(ASK_OFTEN);
		this.fleet.awaitListening(1);
		assertHandOff(pool, instance, other, NEARLY_ALL);
		assertHandOff(pool, other, instance, NEARLY_ALL);
		pool.assertAllFree(this.fleet, KEY, instance, other);
	}

}
