package io.holdfast.redis;

import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.redis.RedisLeaseStore.Options;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.awaitility.Awaitility.await;

/**
 * The connection for commands is there before the first one needs it.
 */
@WithRedis
class WarmUpTests {

	private final TestRedis redis;

	WarmUpTests(TestRedis redis) {
		this.redis = redis;
	}

	@Test
	void anEngineConnectsWhenItIsCreated() {
		RedisServer server = this.redis.startServer();
		StringRedisTemplate observer = new StringRedisTemplate(
				this.redis.connectionFactory(server.host(), server.port()));
		LettuceConnectionFactory factory = this.redis.connectionFactory(server.host(), server.port());
		long before = connections(observer);
		// Polling, as a subscription would connect too.
		LeaseEngine engine = new LeaseEngine(
				new RedisLeaseStore(new StringRedisTemplate(factory), new Options("lock:", "semaphore:", "wake:", null,
						Options.defaults().fenceRetention(), Options.defaults().handoffTimeout(), true, "fleet")),
				EngineSettings.defaults());
		try {
			await().until(() -> connections(observer) == before + 1);
		}
		finally {
			engine.close();
		}
	}

	private static long connections(StringRedisTemplate observer) {
		return observer
			.execute((RedisCallback<Integer>) (connection) -> connection.serverCommands().getClientList().size());
	}

}
