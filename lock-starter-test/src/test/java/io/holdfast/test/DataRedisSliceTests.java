package io.holdfast.test;

import java.io.IOException;
import java.net.ServerSocket;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.autoconfigure.HoldfastProperties.Backend;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import redis.embedded.RedisServer;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.data.redis.test.autoconfigure.DataRedisTest;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests of what an application keeps in Redis, with locks there or in memory.
 */
class DataRedisSliceTests {

	private static RedisServer redis;

	@BeforeAll
	static void startRedis() throws IOException {
		int port;
		try (ServerSocket socket = new ServerSocket(0)) {
			port = socket.getLocalPort();
		}
		redis = RedisServer.builder().port(port).bind("127.0.0.1").setting("save \"\"").build();
		redis.start();
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
		@DisplayName("By default locks are in memory, whatever the application's properties say")
		void locks(@Autowired LockService locks, @Autowired StringRedisTemplate template) {
			try (LockLease lease = locks.acquire("report")) {
				assertThat(lease.isHeld()).isTrue();
				assertThat(template.hasKey("lock:report")).isFalse();
			}
		}

	}

}
