package io.holdfast.redis;

import java.nio.charset.StandardCharsets;

import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.key.TestOptions;
import io.holdfast.redis.script.Script;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.RedisTestCase;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.mockito.Mockito;

import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The connection for commands is open before the first command.
 */
class WarmUpTests extends RedisTestCase {

	@Test
	void anEngineConnectsWhenItIsStarted() {
		RedisServer server = this.redis.startServer();
		StringRedisTemplate observer = new StringRedisTemplate(
				this.redis.connectionFactory(server.host(), server.port()));
		LettuceConnectionFactory factory = this.redis.connectionFactory(server.host(), server.port());
		long before = connections(observer);
		// Polling, since a subscription would connect, too.
		LeaseEngine engine = new LeaseEngine(new RedisLeaseStore(factory,
				new RedisStoreOptions("lock:", "semaphore:", "wake:", null, TestOptions.defaults().fenceRetention(),
						TestOptions.defaults().handoffTimeout(), true, "fleet", null, null)),
				EngineSettings.defaults());
		try {
			assertThat(connections(observer)).isEqualTo(before);
			engine.resume();
			await().until(() -> connections(observer) == before + 1);
		}
		finally {
			engine.close();
		}
	}

	@Test
	@DisplayName("A store that is started connects, and runs a script")
	void isWarmWhenStarted() {
		RedisServer server = this.redis.startServer();
		StringRedisTemplate observer = new StringRedisTemplate(
				this.redis.connectionFactory(server.host(), server.port()));
		RedisLeaseStore store = new RedisLeaseStore(observer.getRequiredConnectionFactory(), TestOptions.defaults());
		try {
			assertThat(isKnown(observer)).isFalse();
			store.start("0123456789abcdef0123456789abcdef", Mockito.mock(StoreNotifications.class));
			await().until(() -> isKnown(observer));
			assertThat(observer.keys("*")).isEmpty();
		}
		finally {
			store.close();
		}
	}

	private static boolean isKnown(StringRedisTemplate observer) {
		String digest = new String(Script.INSPECT.digest(), StandardCharsets.US_ASCII);
		return observer.execute(
				(RedisCallback<Boolean>) (connection) -> connection.scriptingCommands().scriptExists(digest).get(0));
	}

	private static long connections(StringRedisTemplate observer) {
		return observer
			.execute((RedisCallback<Integer>) (connection) -> connection.serverCommands().getClientList().size());
	}

}
