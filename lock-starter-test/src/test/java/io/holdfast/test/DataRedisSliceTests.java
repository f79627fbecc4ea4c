package io.holdfast.test;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.autoconfigure.HoldfastProperties.Backend;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import redis.embedded.RedisExecProvider;
import redis.embedded.RedisServer;
import redis.embedded.RedisServerBuilder;
import redis.embedded.util.OSDetector;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.data.redis.test.autoconfigure.DataRedisTest;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Slice tests of an application's data in Redis, with locks there or in memory.
 */
class DataRedisSliceTests {

	private static RedisServer redis;

	@BeforeAll
	static void startRedis() throws IOException {
		RedisServerBuilder builder = RedisServer.builder().port(freePort()).bind("127.0.0.1").setting("save \"\"");
		String binary = System.getProperty("holdfast.test.redis-binary", "");
		if (!binary.isEmpty()) {
			builder.redisExecProvider(RedisExecProvider.defaultProvider().override(OSDetector.getOS(), binary));
		}
		redis = builder.build();
		redis.start();
	}

	/**
	 * Finds a port below the ports of outgoing connections, which could take it first,
	 * and outside of the range of the other modules' tests.
	 */
	private static int freePort() {
		for (int i = 0; i < 100; i++) {
			int port = ThreadLocalRandom.current().nextInt(18_000, 20_000);
			try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
				return socket.getLocalPort();
			}
			catch (IOException ex) {
				// In use: try another port.
			}
		}
		throw new IllegalStateException("No free port found from 18000 to 19999");
	}

	@AfterAll
	static void stopRedis() throws IOException {
		redis.stop();
	}

	@DynamicPropertySource
	static void redis(DynamicPropertyRegistry registry) {
		registry.add("spring.data.redis.port", () -> redis.ports().get(0));
	}

	@Nested
	@DataRedisTest
	@AutoConfigureHoldfast(backend = Backend.REDIS)
	class OnRedis {

		@Test
		@DisplayName("Locks are keys of the Redis that the slice connects to")
		void locks(@Autowired LockService locks, @Autowired StringRedisTemplate template,
				@Autowired ObjectProvider<HoldfastClock> clock) {
			try (LockLease lease = locks.acquire("report")) {
				assertThat(lease.isHeld()).isTrue();
				assertThat(template.hasKey("lock:report")).isTrue();
			}
			assertThat(clock.stream()).isEmpty();
		}

	}

	@Nested
	@DataRedisTest(properties = "holdfast.backend=redis")
	@AutoConfigureHoldfast
	class InMemory {

		@Test
		@DisplayName("By default locks are in memory, even if the application's properties say otherwise")
		void locks(@Autowired LockService locks, @Autowired StringRedisTemplate template) {
			try (LockLease lease = locks.acquire("report")) {
				assertThat(lease.isHeld()).isTrue();
				assertThat(template.hasKey("lock:report")).isFalse();
			}
		}

	}

}
