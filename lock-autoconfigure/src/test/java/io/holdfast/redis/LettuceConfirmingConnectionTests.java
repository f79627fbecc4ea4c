package io.holdfast.redis;

import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.script.RedisFailures;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.RedisStaticMasterReplicaConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * What Redis is asked for a confirmation, and what it answers.
 */
@WithRedis
class LettuceConfirmingConnectionTests {

	private static final Duration PATIENCE = Duration.ofSeconds(20);

	private static final Duration LIFE = Duration.ofSeconds(50);

	private final RedisServer server;

	private final StringRedisTemplate observer;

	@AutoClose
	private final LettuceConfirmingConnection connection;

	private final TestRedis redis;

	LettuceConfirmingConnectionTests(TestRedis redis) {
		this.redis = redis;
		this.server = redis.startServer();
		LettuceConnectionFactory factory = redis.connectionFactory(this.server.host(), this.server.port());
		this.observer = new StringRedisTemplate(factory);
		this.connection = new LettuceConfirmingConnection(factory);
	}

	private ReplicaConfirmations.Answer confirm(String... lines) {
		return confirm(this.connection, lines);
	}

	private static ReplicaConfirmations.Answer confirm(ReplicaConfirmations.Connection connection, String... lines) {
		byte[][] keys = Stream.of(lines)
			.map((line) -> RedisKeys.bytes(line.substring(0, line.indexOf(' '))))
			.toArray(byte[][]::new);
		byte[][] args = Stream.of(lines)
			.flatMap((line) -> Stream.of((line + " 40000").split(" ")).skip(1))
			.map(RedisKeys::bytes)
			.toArray(byte[][]::new);
		return connection.confirm(keys, args, 0, 1).orTimeout(20, TimeUnit.SECONDS).join();
	}

	private long changes() {
		Properties info = this.observer
			.execute((RedisCallback<Properties>) (connection) -> connection.serverCommands().info("persistence"));
		return Long.parseLong(info.getProperty("rdb_changes_since_last_save"));
	}

	private void permits(String key, String holder, long millisFromNow) {
		this.observer.opsForZSet().add(key, holder, System.currentTimeMillis() + millisFromNow);
		this.observer.expire(key, LIFE);
	}

	@Test
	@DisplayName("Each grant is told to stand or not, by who is there and until when")
	void stands() {
		this.observer.opsForValue().set("lock", "ab:1", LIFE);
		permits("permits", "ab:1:3", 40_000);
		permits("permits", "ab:2:1", -1000);
		assertThat(confirm("lock ab:1", "lock ab:2", "nothing ab:1", "permits ab:1").stands()).containsExactly(true,
				false, false, false);
		assertThat(
				confirm("permits ab:1:3", "permits ab:1:2", "permits ab:2:1", "nothing ab:1:3", "lock ab:1:3").stands())
			.containsExactly(true, false, false, false, false);
	}

	@Test
	@DisplayName("Something is written if one stands, once, which changes nothing")
	void writes() {
		this.observer.opsForValue().set("a", "ab:1", LIFE);
		this.observer.opsForValue().set("b", "ab:2", LIFE);
		permits("permits", "ab:1:3", 40_000);
		long before = changes();
		confirm("a ab:2", "b ab:1", "permits ab:2:3");
		assertThat(changes()).isEqualTo(before);
		confirm("a ab:2", "b ab:2", "a ab:1");
		assertThat(changes()).isEqualTo(before + 1);
		confirm("permits ab:1:3");
		assertThat(changes()).isEqualTo(before + 2);
		assertThat(List.of("a", "b", "permits"))
			.allSatisfy((key) -> assertThat(this.observer.getExpire(key, TimeUnit.MILLISECONDS))
				.isBetween(LIFE.minusSeconds(8).toMillis(), LIFE.toMillis()));
	}

	@Test
	@DisplayName("What another client has left without an end is not deleted by that")
	void withoutEnd() {
		this.observer.opsForValue().set("a", "ab:1");
		assertThat(confirm("a ab:1").stands()).containsExactly(true);
		assertThat(this.observer.getExpire("a", TimeUnit.MILLISECONDS)).isBetween(32_000L, 40_000L);
	}

	@Test
	@DisplayName("What may not be looked at is an error, not a grant that is gone; so is a user who may not wait")
	void rights() {
		this.observer.opsForValue().set("a", "ab:1", LIFE);
		for (List<String> rights : List.of(List.of("-get"), List.of("+get", "-wait"))) {
			this.observer.execute((RedisCallback<Object>) (connection) -> connection.execute("ACL",
					Stream.concat(Stream.of("SETUSER", "default"), rights.stream())
						.map(String::getBytes)
						.toArray(byte[][]::new)));
			assertThat(this.connection.confirm(RedisKeys.bytes(new String[] { "a" }), RedisKeys.bytes("ab:1", "40000"),
					0, 1))
				.as("%s", rights)
				.failsWithin(PATIENCE)
				.withThrowableThat()
				.satisfies((error) -> assertThat(RedisFailures.isForbidden(error)).isTrue());
		}
	}

	@Test
	@DisplayName("It is not opened again when it breaks")
	void breaks() {
		assertThat(this.connection.isOpen()).isTrue();
		this.server.restart();
		await().atMost(PATIENCE).until(() -> !this.connection.isOpen());
		assertThat(this.connection.confirm(new byte[0][], new byte[0][], 0, 1)).failsWithin(PATIENCE);
	}

	@Test
	@DisplayName("It is the master's that Sentinel names")
	void sentinel() {
		RedisServer sentinel = this.redis.startServer("--sentinel");
		new StringRedisTemplate(this.redis.connectionFactory(sentinel.host(), sentinel.port()))
			.execute((RedisCallback<Object>) (connection) -> connection.execute("SENTINEL",
					Stream.of("MONITOR", "main", this.server.host(), "" + this.server.port(), "1")
						.map(String::getBytes)
						.toArray(byte[][]::new)));
		LettuceConnectionFactory factory = new LettuceConnectionFactory(
				new RedisSentinelConfiguration().master("main").sentinel(sentinel.host(), sentinel.port()),
				TestRedis.clientConfiguration());
		factory.afterPropertiesSet();
		factory.start();
		try {
			this.observer.opsForValue().set("a", "ab:1", LIFE);
			assertThat(confirm(new LettuceConfirmingConnection(factory), "a ab:1").stands()).containsExactly(true);
		}
		finally {
			factory.destroy();
		}
	}

	@Test
	@DisplayName("Where Lettuce is given servers without being told which one is the master, that is said")
	void staticReplicas() {
		LettuceConnectionFactory factory = new LettuceConnectionFactory(
				new RedisStaticMasterReplicaConfiguration(this.server.host(), this.server.port()),
				TestRedis.clientConfiguration());
		factory.afterPropertiesSet();
		factory.start();
		try {
			assertThatIllegalStateException().isThrownBy(() -> new LettuceConfirmingConnection(factory))
				.withMessageContaining(
						"static master/replica configuration holdfast.redis.min-replicas cannot be used");
		}
		finally {
			factory.destroy();
		}
	}

}
