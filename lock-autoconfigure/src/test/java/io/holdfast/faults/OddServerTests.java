package io.holdfast.faults;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.actuate.HoldfastHealthIndicator;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.RedisTestCase;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.ProtocolVersion;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.data.redis.autoconfigure.LettuceClientOptionsBuilderCustomizer;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

/**
 * Servers with unusual settings: findings at the start and in health, and locks that
 * exclude each other or are not granted.
 */
@ExtendWith(OutputCaptureExtension.class)
class OddServerTests extends RedisTestCase {

	private static final String KEY = "odd";

	private static final LockRequest REQUEST = LockRequest.of(KEY)
		.waitTime(Duration.ofMinutes(1))
		.leaseTime(Duration.ofMinutes(1));

	static final String ASK_SELDOM = "holdfast.wake-up.handoff-timeout=60s";

	private Fleet fleet(String... extraConfig) {
		return Fleet.on(this.redis, this.redis.startServer(extraConfig));
	}

	private static Health health(Instance instance) {
		return new HoldfastHealthIndicator(instance.engine(), SOON).health();
	}

	static String status(Instance instance) {
		return health(instance).getStatus().getCode();
	}

	@ParameterizedTest(name = "Without {0}")
	@ValueSource(strings = { "time", "set", "pttl", "zadd" })
	@DisplayName("A server without a required command: the command is named at the start and in health, and no lease"
			+ " is granted")
	void renamedCommand(String command, CapturedOutput output) {
		Fleet fleet = fleet("--rename-command", command, "hidden-" + command);
		Instance instance = fleet.start();
		await("a warning").atMost(SOON).until(() -> output.toString().contains("allow it the commands " + command));
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> useAll(instance, fleet))
			.withMessageContaining("nknown");
		assertThat(health(instance)).satisfies((health) -> {
			assertThat(health.getStatus().getCode()).isEqualTo("DEGRADED");
			assertThat(health.getDetails().get("trouble").toString()).contains("nknown");
			assertThat(health.getDetails().get("warnings").toString()).contains(command);
		});
	}

	/** A free lock does not need all commands. */
	private static void useAll(Instance instance, Fleet fleet) {
		instance.acquire(REQUEST).release();
		Instance holder = fleet.start();
		try (LockLease held = holder.acquire(REQUEST)) {
			assertThat(held.isHeld()).isTrue();
			instance.acquire(REQUEST.waitTime(Duration.ofSeconds(1)));
		}
	}

	@ParameterizedTest(name = "+@all -{0}")
	@ValueSource(strings = { "time", "evalsha", "eval" })
	@DisplayName("A user with all required rights but one: the right is named at the start and in health, and no lease"
			+ " is granted")
	void missingRight(String command, CapturedOutput output) {
		Fleet fleet = fleet("--user", "app", "on", ">secret", "~*", "&*", "+@all", "-" + command);
		Instance instance = fleet.start("spring.data.redis.username=app", "spring.data.redis.password=secret");
		await("a warning").atMost(SOON)
			.until(() -> output.toString()
				.lines()
				.anyMatch((line) -> line.contains(" WARN ") && line.contains(command)));
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> instance.acquire(REQUEST))
			.withMessageContaining("does not give the application's user a right");
		assertThat(status(instance)).isEqualTo("DEGRADED");
		assertThat(fleet.isLocked(KEY)).isFalse();
		instance.close();
		assertThat(output).as("a stop that waits in vain").doesNotContain("released at shut-down");
	}

	@ParameterizedTest(name = "+@all {0}")
	@ValueSource(strings = { "-publish", "-subscribe", "resetchannels" })
	@DisplayName("A user without the right to wake-ups: named at the start and in health, waiters poll, locks"
			+ " exclude each other, and wake-ups are received after the right is given")
	void noWakeUps(String rule, CapturedOutput output) {
		Fleet fleet = fleet("--user", "app", "on", ">secret", "~*", "&*", "+@all", rule);
		String[] login = { "spring.data.redis.username=app", "spring.data.redis.password=secret", ASK_SELDOM };
		Instance instance = fleet.start(login);
		Instance other = fleet.start(login);
		await("a warning").atMost(SOON)
			.until(() -> output.toString().split("Wake-ups are not received from Redis", -1).length == 3);
		assertThat(health(instance)).satisfies((health) -> {
			assertThat(health.getStatus().getCode()).isEqualTo("DEGRADED");
			assertThat(health.getDetails()).containsEntry("wakeUps", "not received");
			assertThat(health.getDetails().get("trouble").toString()).contains("right");
		});
		instance.assertHandsOverTo(other);
		other.assertHandsOverTo(instance);
		fleet.setUser("allchannels", "+@all");
		List.of(instance, other).forEach(Instance::awaitListening);
		assertThat(output.toString().split("Wake-ups are not received from Redis", -1)).hasSize(3);
	}

	@Test
	@DisplayName("A server, or a client, with RESP2 only: no warning, wake-ups are received")
	void resp2(CapturedOutput output) {
		Fleet fleet = fleet("--rename-command", "HELLO", "");
		Instance instance = fleet.start(ASK_SELDOM);
		Instance other = fleet.start(Resp2Application.class, ASK_SELDOM);
		List.of(instance, other).forEach(Instance::awaitListening);
		instance.assertHandsOverTo(other);
		other.assertHandsOverTo(instance);
		assertThat(status(instance)).isEqualTo("UP");
		assertThat(output).doesNotContain(" WARN ");
	}

	@Test
	@DisplayName("A server in protected mode, which refuses remote clients: the error quotes the server, no lease is"
			+ " granted")
	void protectedMode() throws IOException {
		try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
			Thread thread = new Thread(() -> refuseAll(server), "protected-mode");
			thread.setDaemon(true);
			thread.start();
			Instance instance = Fleet.on(this.redis)
				.start("spring.data.redis.host=127.0.0.1", "spring.data.redis.port=" + server.getLocalPort(),
						"holdfast.redis.command-timeout=1s");
			await("the server's words").atMost(SOON)
				.untilAsserted(() -> assertThatExceptionOfType(LeaseStoreException.class)
					.isThrownBy(() -> instance.acquire(REQUEST.waitTime(Duration.ofSeconds(1))))
					.withMessageContaining("protected mode"));
			assertThat(status(instance)).isEqualTo("DEGRADED");
		}
	}

	private static void refuseAll(ServerSocket server) {
		try {
			while (true) {
				try (Socket client = server.accept()) {
					client.getOutputStream()
						.write("-DENIED Redis is running in protected mode because protected mode is enabled\r\n"
							.getBytes());
				}
			}
		}
		catch (IOException ex) {
			// Closed by the test.
		}
	}

	@Test
	@DisplayName("A sentinel, a master and a replica with passwords: locks exclude each other, wake-ups are received")
	void sentinelWithPassword(CapturedOutput output) {
		String[] secret = { "--requirepass", "secret", "--masterauth", "secret" };
		RedisServer master = this.redis.startServer(secret);
		this.redis.startServer(Stream
			.concat(Stream.of(secret), Stream.of("--replicaof", master.host(), Integer.toString(master.port())))
			.toArray(String[]::new));
		RedisServer sentinel = this.redis.startServer("--sentinel", "--requirepass", "other");
		monitor(sentinel, "other", master, "secret");
		Fleet fleet = Fleet.on(this.redis, master);
		String[] properties = { "spring.data.redis.sentinel.master=main",
				"spring.data.redis.sentinel.nodes=" + sentinel.host() + ":" + sentinel.port(),
				"spring.data.redis.sentinel.password=other", "spring.data.redis.password=secret", ASK_SELDOM };
		Instance instance = fleet.start(properties);
		Instance other = fleet.start(properties);
		List.of(instance, other).forEach(Instance::awaitListening);
		instance.assertHandsOverTo(other);
		other.assertHandsOverTo(instance);
		assertThat(health(instance).getDetails()).doesNotContainKey("warnings");
		assertThat(output).doesNotContain(" WARN ");
	}

	private static void monitor(RedisServer sentinel, String password, RedisServer master, String auth) {
		RedisClient client = RedisClient.create();
		try (StatefulRedisConnection<String, String> connection = client.connect(RedisURI.builder()
			.withHost(sentinel.host())
			.withPort(sentinel.port())
			.withPassword(password.toCharArray())
			.build())) {
			for (String line : List.of("MONITOR main " + master.host() + " " + master.port() + " 1",
					"SET main auth-pass " + auth)) {
				connection.sync()
					.dispatch(CommandType.SENTINEL, new StatusOutput<>(StringCodec.UTF8),
							new CommandArgs<>(StringCodec.UTF8).addValues(line.split(" ")));
			}
		}
		finally {
			client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
		}
	}

	@Test
	@DisplayName("A wrong password for the sentinel: the error names its property")
	void wrongPasswordOfSentinel() {
		RedisServer sentinel = this.redis.startServer("--sentinel", "--requirepass", "other");
		try (Instance instance = Fleet.on(this.redis)
			.start("spring.data.redis.sentinel.master=main",
					"spring.data.redis.sentinel.nodes=" + sentinel.host() + ":" + sentinel.port(),
					"spring.data.redis.sentinel.password=wrong")) {
			await("trouble with the password").atMost(SOON)
				.until(() -> trouble(instance).contains("spring.data.redis.sentinel.password"));
		}
	}

	@Test
	@DisplayName("A wrong or missing password: the application starts, and the store's trouble is reported")
	void wrongPassword() {
		Fleet fleet = fleet("--requirepass", "secret");
		Instance instance = fleet.start("spring.data.redis.password=secret");
		instance.acquire(REQUEST).close();
		for (String password : new String[] { "wrong", "" }) {
			Instance locked = fleet.start("spring.data.redis.password=" + password);
			// At times the driver only reports a closed connection.
			await("trouble with the password").atMost(SOON).until(() -> trouble(locked).contains("password"));
		}
	}

	private static String trouble(Instance instance) {
		LeaseStoreException trouble = catchThrowableOfType(LeaseStoreException.class, () -> instance.acquire(REQUEST));
		assertThat(trouble).hasMessageContaining(KEY).hasMessageNotContaining("secret");
		return String.valueOf(trouble.getMessage());
	}

	@Test
	@DisplayName("Another database has the keys, and wake-ups work")
	void database() {
		Fleet fleet = fleet();
		Instance instance = fleet.start("spring.data.redis.database=5", ASK_SELDOM);
		Instance other = fleet.start("spring.data.redis.database=5", ASK_SELDOM);
		Instance stranger = fleet.start("spring.data.redis.database=6");
		fleet.awaitListening(3);
		try (LockLease lease = instance.acquire(REQUEST)) {
			assertThat(fleet.isLocked(KEY)).as("in database 0").isFalse();
			assertThat(other.tryAcquire(KEY)).isEmpty();
			assertThat(stranger.tryAcquire(KEY)).hasValueSatisfying(LockLease::release);
			assertThat(lease.isHeld()).isTrue();
		}
		instance.assertHandsOverTo(other);
		other.assertHandsOverTo(instance);
	}

	@ParameterizedTest
	@CsvSource({ "database=99, DB index is out of range", "client-name=a b, Client names cannot contain spaces" })
	@DisplayName("Settings that Redis refuses while a connection is opened: the error quotes Redis and the properties,"
			+ " and names no key")
	void refusedSetting(String setting, String reason) {
		try (Instance instance = fleet().start("spring.data.redis." + setting)) {
			assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> instance.acquire(REQUEST))
				.withMessageContainingAll("Redis cannot be reached (see spring.data.redis.*)",
						"Unable to connect to 127.0.0.1", reason)
				.withMessageNotContaining(this.redis.keyPrefix());
		}
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Resp2Application {

		@Bean
		LettuceClientOptionsBuilderCustomizer resp2() {
			return (ClientOptions.Builder options) -> options.protocolVersion(ProtocolVersion.RESP2);
		}

	}

}
