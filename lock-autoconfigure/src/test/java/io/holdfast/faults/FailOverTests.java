package io.holdfast.faults;

import java.time.Duration;

import io.holdfast.testing.RedisServer;
import io.holdfast.testing.SentinelRedis;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Sentinel replaces the master by a replica with all writes.
 */
@WithRedis
@Slow
class FailOverTests {

	/**
	 * Longer than the time from the last renewal to the end of a fail-over, with a check
	 * of the sentinel every ten seconds, on a busy machine.
	 */
	private static final Duration LEASE = Duration.ofSeconds(30);

	/** Polls after 24 s at the earliest: an earlier grant came by a wake-up. */
	private static final String ASK_SELDOM = "holdfast.wake-up.handoff-timeout=60s";

	private final SentinelRedis redis;

	private final Fleet fleet;

	FailOverTests(TestRedis redis) {
		this.redis = redis.startSentinel(1);
		this.fleet = Fleet.on(redis, this.redis);
	}

	@ParameterizedTest(
			name = "F28 The master dies, and comes back as a replica: nothing is lost, no instance restarts ({0})")
	@ValueSource(strings = { "lettuce", "jedis" })
	void masterDies(String driver) {
		String[] properties = { ASK_SELDOM, "spring.data.redis.client-type=" + driver };
		Instance instance = this.fleet.start(properties);
		Instance other = this.fleet.start(properties);
		this.fleet.awaitListening(2);
		Claims claims = new Claims(this.fleet, "first", LEASE, instance).waitedForBy(other);
		this.redis.awaitReplicated();
		RedisServer old = this.redis.master();
		old.kill();
		this.redis.watchClosely();
		this.redis.awaitFailOver(old);
		// The subscriptions are with the new master.
		this.fleet.awaitListening(2);
		claims.awaitRenewed();
		claims.assertHeld();
		claims.assertHandedOver();

		old.restart();
		this.redis.awaitReplica(old);
		claims = new Claims(this.fleet, "second", LEASE, other).waitedForBy(instance);
		this.redis.awaitReplicated();
		RedisServer second = this.redis.master();
		assertThat(this.redis.failOver()).isSameAs(old);
		// The old master was alive, and sends its clients away.
		this.redis.awaitReplica(second);
		this.fleet.awaitListening(2);
		claims.assertHeld();
		claims.assertHandedOver();
		this.fleet.awaitNothingLeft();
	}

}
