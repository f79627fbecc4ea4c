package io.holdfast.redis;

import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import io.holdfast.redis.driver.LettuceWatchConnections;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.script.RedisFailures;
import io.holdfast.redis.script.Script;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.RedisStaticMasterReplicaConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/** The script that checks grants, and its connection. */
@WithRedis
class ConfirmScriptTests {

	private static final Duration PATIENCE = Duration.ofSeconds(20);

	private static final Duration LIFE = Duration.ofSeconds(50);

	private final RedisServer server;

	private final StringRedisTemplate observer;

	@AutoClose
	private final StatefulRedisConnection<byte[], byte[]> connection;

	private final TestRedis redis;

	ConfirmScriptTests(TestRedis redis) {
		this.redis = redis;
		this.server = redis.startServer();
		LettuceConnectionFactory factory = redis.connectionFactory(this.server.host(), this.server.port());
		this.observer = new StringRedisTemplate(factory);
		this.connection = connect(factory);
	}

	private static StatefulRedisConnection<byte[], byte[]> connect(LettuceConnectionFactory factory) {
		return LettuceWatchConnections.connect(factory, "min-replicas cannot be used");
	}

	private List<Boolean> confirm(String... lines) {
		return confirm(this.connection, lines);
	}

	private static List<Boolean> confirm(StatefulRedisConnection<byte[], byte[]> connection, String... lines) {
		String[] keys = Stream.of(lines).map((line) -> line.substring(0, line.indexOf(' '))).toArray(String[]::new);
		String[] args = Stream.of(lines)
			.flatMap((line) -> Stream.of((line + " 40000").split(" ")).skip(1))
			.toArray(String[]::new);
		List<Long> stands = connection.sync()
			.eval(Script.CONFIRM.text(), ScriptOutputType.MULTI, RedisKeys.bytes(keys), RedisKeys.bytes(args));
		return stands.stream().map((stand) -> stand == 1).toList();
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
	@DisplayName("A grant stands while its token holds the key")
	void stands() {
		this.observer.opsForValue().set("lock", "ab:1", LIFE);
		permits("permits", "ab:1:3", 40_000);
		permits("permits", "ab:2:1", -1000);
		assertThat(confirm("lock ab:1", "lock ab:2", "nothing ab:1", "permits ab:1")).containsExactly(true, false,
				false, false);
		assertThat(confirm("permits ab:1:3", "permits ab:1:2", "permits ab:2:1", "nothing ab:1:3", "lock ab:1:3"))
			.containsExactly(true, false, false, false, false);
	}

	@Test
	@DisplayName("The script writes once if at least one grant stands, and changes no data")
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
	@DisplayName("A key without expiry stays when the script writes")
	void withoutEnd() {
		this.observer.opsForValue().set("a", "ab:1");
		assertThat(confirm("a ab:1")).containsExactly(true);
		assertThat(this.observer.getExpire("a", TimeUnit.MILLISECONDS)).isBetween(32_000L, 40_000L);
	}

	@Test
	@DisplayName("A missing right is an error, not a lost grant")
	void rights() {
		this.observer.opsForValue().set("a", "ab:1", LIFE);
		this.observer.execute((RedisCallback<Object>) (connection) -> connection.execute("ACL", "SETUSER".getBytes(),
				"default".getBytes(), "-get".getBytes()));
		assertThatExceptionOfType(RedisCommandExecutionException.class).isThrownBy(() -> confirm("a ab:1"))
			.satisfies((error) -> assertThat(RedisFailures.isForbidden(error)).isTrue());
	}

	@Test
	@DisplayName("The connection is not opened again after a break")
	void breaks() {
		assertThat(this.connection.isOpen()).isTrue();
		this.server.restart();
		await().atMost(PATIENCE).until(() -> !this.connection.isOpen());
		assertThatExceptionOfType(RedisException.class).isThrownBy(() -> confirm("a ab:1"));
	}

	@Test
	@DisplayName("With Sentinel the connection leads to the master")
	void sentinel() {
		RedisServer sentinel = this.redis.startServer("--sentinel");
		new StringRedisTemplate(this.redis.connectionFactory(sentinel.host(), sentinel.port()))
			.execute((RedisCallback<Object>) (connection) -> connection.execute("SENTINEL",
					Stream.of("MONITOR", "main", this.server.host(), "" + this.server.port(), "1")
						.map(String::getBytes)
						.toArray(byte[][]::new)));
		LettuceConnectionFactory factory = this.redis.connectionFactory(
				new RedisSentinelConfiguration().master("main").sentinel(sentinel.host(), sentinel.port()));
		this.observer.opsForValue().set("a", "ab:1", LIFE);
		assertThat(confirm(connect(factory), "a ab:1")).containsExactly(true);
	}

	@Test
	@DisplayName("A static master/replica configuration is refused by name")
	void staticReplicas() {
		LettuceConnectionFactory factory = this.redis
			.connectionFactory(new RedisStaticMasterReplicaConfiguration(this.server.host(), this.server.port()));
		assertThatIllegalStateException().isThrownBy(() -> connect(factory))
			.withMessageContaining("static master/replica configuration min-replicas cannot be used");
	}

}
