package io.holdfast.faults;

import java.io.IOException;
import java.time.Duration;
import java.util.List;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.testing.HalfOpenProxy;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.SentinelRedis;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.context.ConfigurableApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Connections that have fallen silent, while Redis accepts new connections.
 */
@Slow
@WithRedis
class SilentConnectionTests {

	/** Longer than the detection of a silence, and shorter than a lease. */
	private static final LockRequest WAITING = LockRequest.of("waiting").waitTime(Duration.ofSeconds(25));

	@Test
	@DisplayName("All connections are lost without notice: leases are held, and granted, as soon as the loss is"
			+ " noticed")
	void halfOpen(TestRedis redis) throws IOException {
		try (HalfOpenProxy proxy = new HalfOpenProxy(redis.host(), redis.port());
				ConfigurableApplicationContext context = TestApplication.start(proxy.host(), proxy.port(),
						redis.keyPrefix(), List.of())) {
			LockService locks = context.getBean(LockService.class);
			LeaseEngine engine = context.getBean(LeaseEngine.class);
			await("a subscription").until(() -> engine.status().listening());
			LockLease lease = locks.acquire("held");
			proxy.lose("HELLO");
			proxy.pass();
			locks.acquire(WAITING).close();
			await("a subscription").atMost(Duration.ofSeconds(30)).until(() -> engine.status().listening());
			assertThat(lease.isHeld()).isTrue();
			lease.close();
		}
	}

	@Test
	@DisplayName("A frozen master is replaced, and stays frozen: instances go to the new master")
	void standingMaster(TestRedis redis) {
		SentinelRedis servers = redis.startSentinel(1);
		try (Fleet fleet = Fleet.on(redis, servers)) {
			Instance instance = fleet.start();
			fleet.awaitListening(1);
			LockLease lease = instance.locks().acquire("held");
			servers.awaitReplicated();
			RedisServer old = servers.master();
			old.freeze();
			servers.watchClosely(Duration.ofMillis(500));
			servers.awaitFailOver(old);
			instance.locks().acquire(WAITING).close();
			assertThat(lease.isHeld()).isTrue();
			lease.close();
		}
	}

}
