package io.holdfast.redis.script;

import java.net.ConnectException;
import java.security.cert.CertificateExpiredException;
import java.util.stream.Stream;

import io.holdfast.engine.store.StoreCommandException;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisConnectionException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.data.redis.RedisConnectionFailureException;
import org.springframework.data.redis.RedisSystemException;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Meaning of the error messages of Redis and its drivers.
 */
class RedisFailuresTests {

	@ParameterizedTest
	@ValueSource(strings = { "READONLY You can't write against a read only replica.",
			"LOADING Redis is loading the dataset in memory", "MASTERDOWN Link with MASTER is down",
			"CLUSTERDOWN The cluster is down", "MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381",
			"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
			"NOREPLICAS Not enough good replicas to write.", "ERR max number of clients reached",
			"ERR Can not execute the command on a stale replica script: f3, on @user_script:7.",
			"ERR Script attempted to execute a write command while the cluster is down and readonly script: f3, on @user_script:7.",
			"Lua script attempted to execute a command while the cluster is down script: f3",
			"ERR WAIT cannot be used with replica instances.", "Command timed out after 1 second(s)",
			"Connection is closed", "Connection refused: localhost/127.0.0.1:6379" })
	@DisplayName("Temporary trouble is a temporary failure without a key")
	void temporary(String text) {
		StoreCommandException failure = RedisFailures.of(wrapped(text), "lock:a");
		assertThat(failure.isTemporary()).isTrue();
		assertThat(failure.isWorthWaiting()).isFalse();
		assertThat(failure.getMessage()).endsWith(": " + text).doesNotContain("lock:a");
	}

	@ParameterizedTest
	@ValueSource(strings = { "TRYAGAIN Multiple keys request during rehashing of slot",
			"ERR Script attempted to access a non local key in a cluster node script: f3, on @user_script:7." })
	@DisplayName("A moving slot is a temporary failure")
	void movingSlot(String text) {
		StoreCommandException failure = RedisFailures.of(wrapped(text), "lock:a");
		assertThat(failure.isTemporary()).isTrue();
		assertThat(failure.isWorthWaiting()).isTrue();
		assertThat(failure).hasMessageContaining(text).hasMessageContaining("lock:a");
	}

	@ParameterizedTest
	@ValueSource(strings = { "NOPERM this user has no permissions to run the 'evalsha' command",
			"ERR ACL failure in script: User app has no permissions to run the 'set' command",
			"NOAUTH Authentication required.", "WRONGPASS invalid username-password pair or user is disabled.",
			"ERR unknown command 'EVALSHA'", "CROSSSLOT Keys in request don't hash to the same slot" })
	@DisplayName("Trouble that needs an operator is not temporary, and the message quotes Redis")
	void lasting(String text) {
		StoreCommandException failure = RedisFailures.of(wrapped(text), "lock:a");
		assertThat(failure.isTemporary()).isFalse();
		assertThat(failure).hasMessageContaining(text);
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			NOPERM this user has no permissions to run the 'evalsha' command                | true
			ERR unknown command 'EVALSHA'                                                   | true
			ERR Unknown Redis command called from script script: f3, on @user_script:7.     | true
			ERR Unknown command called from script script: f3, on @user_script:7.           | true
			ERR Could not find scripting engine 'lua'                                       | true
			NOPERM this user has no permissions to access one of the keys used as arguments | true
			ERR ACL failure in script: No permissions to access a key                       | true
			CROSSSLOT Keys in request don't hash to the same slot                           | true
			WRONGPASS invalid username-password pair or user is disabled.                   | true
			OOM command not allowed when used memory > 'maxmemory'.                         | true
			READONLY You can't write against a read only replica.                           | true
			MISCONF Redis is configured to save RDB snapshots, but it cannot.               | true
			TRYAGAIN Multiple keys request during rehashing of slot                         | true
			WRONGTYPE Operation against a key holding the wrong kind of value               | false
			Connection refused: localhost/127.0.0.1:6379                                    | false
			Command timed out after 1 second(s)                                             | false
			""")
	@DisplayName("An error reply of Redis is a refusal, without the key unless the key is its reason")
	void refused(String text, boolean refused) {
		String refusal = RedisFailures.of(wrapped(text), "lock:a").refusal();
		assertThat(refusal != null).isEqualTo(refused);
		assertThat(String.valueOf(refusal)).doesNotContain("lock:a");
		if (refused) {
			// Arguments may follow.
			assertThat(refusal).contains(": ", text.substring(0, 12));
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "NOAUTH Authentication required.",
			"WRONGPASS invalid username-password pair or user is disabled." })
	@DisplayName("The message of a refused login says that nothing is granted")
	void login(String text) {
		assertThat(RedisFailures.of(wrapped(text), "lock:a"))
			.hasMessageEndingWith("(spring.data.redis.username, spring.data.redis.password), and grants nothing without"
					+ " a login: " + text);
	}

	@Test
	@DisplayName("The message of a login that a sentinel refused names the sentinel's properties")
	void loginAtSentinel() {
		assertThat(RedisFailures.of(connecting("Cannot connect Redis Sentinel at redis://redis.example:26379",
				new RedisCommandExecutionException("WRONGPASS invalid username-password pair")), "lock:a"))
			.hasMessageContaining("(spring.data.redis.sentinel.username, spring.data.redis.sentinel.password)");
	}

	static Stream<Arguments> connecting() {
		return Stream.of(
				Arguments.of("Unable to connect to redis.example:6379",
						new RedisCommandExecutionException("ERR DB index is out of range"), false,
						"Unable to connect to redis.example:6379: ERR DB index is out of range"),
				Arguments.of("Unable to connect to redis.example:6379", new ConnectException("Connection refused"),
						true, "Unable to connect to redis.example:6379: Connection refused"),
				Arguments.of("Unable to connect to redis.example:6379",
						new CertificateExpiredException("NotAfter: Sun Feb 01 00:00:00 UTC 2026"), true,
						"Unable to connect to redis.example:6379: java.security.cert.CertificateExpiredException:"
								+ " NotAfter: Sun Feb 01 00:00:00 UTC 2026"),
				Arguments.of(null, new RedisCommandTimeoutException("Cannot obtain master using SENTINEL MASTER"), true,
						"Cannot obtain master using SENTINEL MASTER"));
	}

	@ParameterizedTest
	@MethodSource
	@DisplayName("The message of a connection that cannot be opened names the properties, the address and the reason,"
			+ " and no key")
	void connecting(@Nullable String message, Throwable cause, boolean temporary, String shown) {
		StoreCommandException failure = RedisFailures.of(connecting(message, cause), "lock:a");
		assertThat(failure).hasMessage("Redis cannot be reached (see spring.data.redis.*): " + shown);
		assertThat(failure.isTemporary()).isEqualTo(temporary);
	}

	private static Exception connecting(@Nullable String message, Throwable cause) {
		return new RedisConnectionFailureException("Unable to connect to Redis",
				new RedisConnectionException(message, cause));
	}

	@Test
	@DisplayName("Full memory is temporary, and the message names the setting")
	void outOfMemory() {
		String text = "OOM command not allowed when used memory > 'maxmemory'.";
		StoreCommandException failure = RedisFailures.of(wrapped(text), "lock:a");
		assertThat(failure.isTemporary()).isTrue();
		assertThat(failure).hasMessage("Redis is out of memory (maxmemory) and grants nothing new: " + text);
	}

	static Stream<Throwable> wrongTypes() {
		return Stream.of(wrapped("WRONGTYPE Operation against a key holding the wrong kind of value"),
				new NumberFormatException("For input string: \"99999999999999999999\""));
	}

	@ParameterizedTest
	@MethodSource("wrongTypes")
	@DisplayName("A wrong type or a foreign number is an error that names the key and the cure")
	void wrongType(Throwable error) {
		StoreCommandException failure = RedisFailures.of(error, "lock:a");
		assertThat(failure.isTemporary()).isFalse();
		assertThat(failure).hasMessageContaining("'lock:a'")
			.hasMessageContaining("holdfast.lock.key-prefix")
			.hasMessageContaining("holdfast.fleet.key");
	}

	@ParameterizedTest
	@ValueSource(
			strings = { "ERR unknown command 'EVALSHA', with args beginning with: 'f3' '3' 'lock:a' '%1$s:7' '30000' ",
					"ERR unknown command `EVALSHA`, with args beginning with: `f3`, `%2$s`, ",
					"ERR Unknown command EVALSHA, args: f3 %1$s:W7", "ERR unknown subcommand '%2$s'. Try SCRIPT HELP.",
					"ERR unknown command 'EVAL', with args beginning with: 'return redis.call('get', KEYS[1])' '0' ",
					"NOPERM User app has no permissions to access the 'holdfast:wake:%1$s' channel",
					"ERR value is not an integer: %1$s:7" })
	@DisplayName("No message, and no message of a cause, has a token, the id of an instance or a script")
	void tellsNoArguments(String text) {
		String id = "0123456789abcdef0123456789abcdef";
		StoreCommandException failure = RedisFailures.of(wrapped(text.formatted(id, id.substring(0, 20))), "lock:a");
		for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
			assertThat(cause.toString()).doesNotContain("0123456789abcdef").doesNotContain("redis.call");
		}
		assertThat(failure).hasCauseExactlyInstanceOf(IllegalStateException.class)
			.hasRootCauseMessage(IllegalStateException.class.getName() + ": "
					+ RedisFailures.withoutArguments(text.formatted(id, id.substring(0, 20))));
	}

	@Test
	@DisplayName("An error without arguments stays the cause as it is")
	void keepsCause() {
		Exception error = wrapped("LOADING Redis is loading the dataset in memory");
		assertThat(RedisFailures.of(error, "lock:a")).cause().isSameAs(error);
	}

	private static Exception wrapped(String text) {
		return new RedisSystemException("Error in execution", new IllegalStateException(text));
	}

}
