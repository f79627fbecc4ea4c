package io.holdfast.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.Lease;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.SentinelRedis;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Sentinel replaces the master by a replica that has all that was written.
 */
@WithRedis
class FailOverTests {

	/** Longer than a fail-over takes. */
	private static final Duration LEASE = Duration.ofSeconds(12);

	/** Asks again after 24 s at the earliest: what comes sooner, came by a wake-up. */
	private static final String ASK_SELDOM = "holdfast.wake-up.handoff-timeout=60s";

	private final SentinelRedis redis;

	private final Fleet fleet;

	private int round;

	FailOverTests(TestRedis redis) {
		this.redis = redis.startSentinel(1);
		this.fleet = Fleet.on(redis, this.redis);
	}

	@AfterEach
	void close() {
		this.fleet.close();
	}

	/** What two instances want of each kind there is. */
	private static final class Claims {

		private final List<Lease> held = new ArrayList<>();

		private final List<CompletableFuture<? extends Lease>> waiting = new ArrayList<>();

		private final AtomicInteger losses = new AtomicInteger();

		Claims(Fleet fleet, String key, Instance holder, Instance waiter) {
			LockRequest lock = LockRequest.of(key).leaseTime(LEASE).waitForever();
			this.held.add(holder.acquire(lock));
			this.waiting.add(waiter.acquireInBackground(lock));
			fleet.awaitQueued(key);
			for (Pool pool : Pool.values()) {
				PoolRequest all = new PoolRequest(pool, key + pool).leaseTime(LEASE)
					.waitTime(Duration.ofMinutes(1))
					.all();
				this.held.add(all.acquire(holder));
				this.waiting.add(all.acquireInBackground(waiter));
				pool.awaitQueued(fleet, key + pool, 1);
			}
			this.held.forEach((lease) -> lease.onLost(this.losses::incrementAndGet));
		}

		void assertHeld() {
			assertThat(this.losses).hasValue(0);
			assertThat(this.held).allMatch(Lease::isHeld);
			assertThat(this.waiting).noneMatch(CompletableFuture::isDone);
		}

		void assertHandedOver() {
			for (int i = 0; i < this.held.size(); i++) {
				Lease before = this.held.get(i);
				assertThat(before.release()).isEqualTo(ReleaseResult.RELEASED);
				assertThat(this.waiting.get(i)).succeedsWithin(SOON).satisfies((next) -> {
					if (before instanceof LockLease lock) {
						assertThat(((LockLease) next).fence()).isGreaterThan(lock.fence());
					}
					assertThat(next.isHeld()).isTrue();
					assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED);
				});
			}
		}

	}

	private Claims claims(Instance holder, Instance waiter) {
		return new Claims(this.fleet, "fail-over-" + ++this.round, holder, waiter);
	}

	private void awaitRenewals() {
		String lock = "fail-over-" + this.round;
		Duration renewed = LEASE.minusSeconds(3);
		await("renewal of all kinds").atMost(LEASE).until(() -> {
			boolean all = this.fleet.timeToLive(lock).compareTo(renewed) > 0;
			for (Pool pool : Pool.values()) {
				all &= pool.leaseLeft(this.fleet, lock + pool).compareTo(renewed) > 0;
			}
			return all;
		});
	}

	@ParameterizedTest(
			name = "F28 the master dies, and comes back as a replica: nothing is lost, nobody restarts ({0})")
	@ValueSource(strings = { "lettuce", "jedis" })
	void masterDies(String driver) {
		String[] properties = { ASK_SELDOM, "spring.data.redis.client-type=" + driver };
		Instance instance = this.fleet.start(properties);
		Instance other = this.fleet.start(properties);
		this.fleet.awaitListening(2);
		Claims claims = claims(instance, other);
		this.redis.awaitReplicated();
		RedisServer old = this.redis.master();
		old.kill();
		this.redis.watchClosely();
		this.redis.awaitFailOver(old);
		// The subscriptions are with the new master.
		this.fleet.awaitListening(2);
		awaitRenewals();
		claims.assertHeld();
		claims.assertHandedOver();

		old.restart();
		this.redis.awaitReplica(old);
		claims = claims(other, instance);
		this.redis.awaitReplicated();
		RedisServer second = this.redis.master();
		assertThat(this.redis.failOver()).isSameAs(old);
		// It was alive, and its clients are sent away.
		this.redis.awaitReplica(second);
		this.fleet.awaitListening(2);
		claims.assertHeld();
		claims.assertHandedOver();
		this.fleet.awaitNothingLeft();
	}

}
