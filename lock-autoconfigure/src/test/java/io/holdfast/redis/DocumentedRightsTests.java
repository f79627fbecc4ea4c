package io.holdfast.redis;

import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.holdfast.engine.store.StoreDiagnostic;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.redis.key.TestOptions;
import io.holdfast.redis.script.RedisFailures;
import io.holdfast.testing.DocumentedRights;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.Mockito.mock;

/**
 * Each documented right that is missing is named at the start, before the first request.
 */
@WithRedis
class DocumentedRightsTests {

	private static final Duration PATIENCE = Duration.ofSeconds(20);

	/** Needed at the end only, when the connection is closed anyway. */
	private static final String UNSUBSCRIBE = "+unsubscribe";

	private static RedisServer server;

	private static StringRedisTemplate observer;

	private final RedisLeaseStore store;

	DocumentedRightsTests(TestRedis redis) {
		RedisStandaloneConfiguration configuration = new RedisStandaloneConfiguration(server.host(), server.port());
		configuration.setUsername("app");
		configuration.setPassword("secret");
		this.store = new RedisLeaseStore(redis.connectionFactory(configuration), TestOptions.defaults());
		redis.closeAtEnd(this.store::close);
	}

	@BeforeAll
	static void start(TestRedis redis) {
		server = redis.startServer();
		observer = new StringRedisTemplate(redis.connectionFactory(server.host(), server.port()));
	}

	private static void allow(DocumentedRights rights) {
		Stream<String> words = Stream.concat(Stream.of("SETUSER", "app"), rights.rules("secret").stream());
		observer.execute((RedisCallback<@Nullable Object>) (connection) -> {
			// Each script is sent in full again.
			connection.scriptingCommands().scriptFlush();
			return connection.execute("ACL", words.map(String::getBytes).toArray(byte[][]::new));
		});
	}

	private String findings() {
		this.store.start(UUID.randomUUID().toString().replace("-", ""), mock(StoreNotifications.class));
		return this.store.examine()
			.orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS)
			.join()
			.stream()
			.map(StoreDiagnostic::text)
			// COMMAND INFO serves this check only, and the rights for watching have
			// findings
			// of their own.
			.filter((text) -> !text.contains("command info") && !text.contains("needed to watch the fleet"))
			.collect(Collectors.joining("\n"));
	}

	static List<String> rights() {
		return DocumentedRights.ofLeases().without(UNSUBSCRIBE).rights();
	}

	@ParameterizedTest(name = "F35 Without {0}: named at the start")
	@MethodSource("rights")
	void missing(String right) {
		allow(DocumentedRights.ofLeases().without(right));
		String findings = findings();
		String name = right.substring(1);
		if (right.equals("+subscribe")) {
			await("word of the subscription").atMost(PATIENCE)
				.untilAsserted(() -> assertThat(this.store.whyNotListening()).contains("'subscribe'"));
		}
		else if (right.startsWith("+")) {
			assertThat(findings).containsPattern("the commands " + name + "\\b|'" + name + "'");
		}
		else {
			assertThat(findings).contains(right.startsWith("~") ? "'" + name + "'" : "the channels " + name);
		}
	}

	@Test
	@DisplayName("The line to copy has each right, also those for replicas and the grace")
	void inOneLine() {
		assertThat(DocumentedRights.inOneLine().rights()).containsAll(DocumentedRights.ofLeases().rights())
			.containsAll(DocumentedRights.ofWatching().rights())
			.contains("+wait", "+info");
	}

	@Test
	@DisplayName("F35 The message about a missing right lists the documented commands")
	void inMessage() {
		String message = RedisFailures.of(new IllegalStateException("NOPERM"), "any").getMessage();
		assertThat(message.substring(message.indexOf("are: ") + 5, message.indexOf(';')).split(" "))
			.containsExactlyElementsOf(DocumentedRights.ofLeases().commands());
	}

	@Test
	@DisplayName("Redis accepts the line to copy, also where new users may use all channels, the default before 7.0")
	void lineToCopy(TestRedis redis) {
		RedisServer old = redis.startServer("--acl-pubsub-default", "allchannels");
		StringRedisTemplate administrator = new StringRedisTemplate(redis.connectionFactory(old.host(), old.port()));
		List<String> words = DocumentedRights.lineToCopy();
		Object answer = administrator.execute((RedisCallback<@Nullable Object>) (connection) -> connection
			.execute(words.get(0), words.stream().skip(1).map(String::getBytes).toArray(byte[][]::new)));
		assertThat(answer).isNotNull();
	}

	@Test
	@DisplayName("F35 With all rights, also without UNSUBSCRIBE, there are no findings")
	void nothingMissing() {
		for (DocumentedRights rights : List.of(DocumentedRights.ofLeases(),
				DocumentedRights.ofLeases().without(UNSUBSCRIBE))) {
			allow(rights);
			assertThat(findings()).isEmpty();
			await("a subscription").atMost(PATIENCE).until(this.store::isListening);
			this.store.stop();
		}
		assertThat(DocumentedRights.ofLeases().rights()).hasSizeGreaterThan(20).contains("~lock:*", "&holdfast:wake:*");
	}

}
