package io.holdfast.faults;

import java.time.Duration;

import io.holdfast.testing.SentinelRedis;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.faults.Fleet.SOON;
import static org.awaitility.Awaitility.await;

/**
 * Redis lacks replicas for writes ({@code min-replicas-to-write}).
 */
@WithRedis
class MissingReplicasTests {

	private static final String KEY = "missing-replicas";

	private final SentinelRedis redis;

	private final Fleet fleet;

	private final Instance instance;

	private final Instance other;

	MissingReplicasTests(TestRedis redis) {
		this.redis = redis.startSentinel(2);
		this.redis.master().run((commands) -> commands.configSet("min-replicas-to-write", "2"));
		this.fleet = Fleet.on(redis, this.redis);
		this.instance = this.fleet.start();
		this.other = this.fleet.start();
		this.fleet.awaitListening(2);
	}

	private void mend() {
		this.redis.mendReplication();
		await("replicas back").atMost(SOON)
			.until(() -> this.redis.master()
				.run((commands) -> commands.info("replication"))
				.contains("min_slaves_good_slaves:2"));
	}

	@Test
	@DisplayName("F29 Missing at the release: the release fails, and is repeated when replicas are back, long before"
			+ " the lease ends")
	void release() {
		Duration leaseTime = Duration.ofMinutes(5);
		Claims claims = new Claims(this.fleet, KEY, leaseTime, this.instance).waitedForBy(this.other);
		this.redis.cutReplication();
		claims.assertReleaseRefused();
		mend();
		claims.assertGranted();
		this.fleet.awaitNothingLeft();
	}

}
