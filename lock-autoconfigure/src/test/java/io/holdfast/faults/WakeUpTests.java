package io.holdfast.faults;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.holdfast.Lease;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.RedisTestCase;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

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

	private static final String POLLING = "holdfast.wake-up.mode=polling";

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

}
