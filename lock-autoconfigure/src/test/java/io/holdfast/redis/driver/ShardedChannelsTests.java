package io.holdfast.redis.driver;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.testing.CommandProxy;
import io.holdfast.testing.RedisCluster;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.RedisTestCase;
import io.holdfast.testing.TestApplication;
import io.lettuce.core.cluster.SlotHash;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.Isolated;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

/**
 * A service whose cluster divides channels among its nodes, so that a script cannot
 * publish to channels in other slots.
 */
// Counts all warnings, also from tests beside it.
@Isolated
@ExtendWith(OutputCaptureExtension.class)
class ShardedChannelsTests extends RedisTestCase {

	private static final Duration SOON = Duration.ofSeconds(20);

	@Test
	@DisplayName("The missing wake-ups are logged with a cure, and waiters poll")
	void polls(CapturedOutput output) throws IOException {
		onService(this.redis.keyPrefix(), (first, second) -> {
			LeaseEngine engine = second.getBean(LeaseEngine.class);
			await("the reported trouble").atMost(SOON).until(() -> engine.status().trouble() != null);
			assertThat(engine.status().trouble()).contains("set holdfast.wake-up.mode to polling");
			assertThat(engine.status().listening()).isFalse();
			assertHandedOver(first, second);
		});
		// Lettuce warns of clients that other tests have left, when they are collected.
		assertThat(output.toString().lines().filter((line) -> line.matches(".*WARN +\\[.*] i\\.h.*")))
			.as("one warning by each instance")
			.hasSize(2)
			.allSatisfy((line) -> assertThat(line).contains("Wake-ups are not received from Redis"));
	}

	@Test
	@DisplayName("Wake-ups are received where keys and channels have one hash tag")
	void oneTag(CapturedOutput output) throws IOException {
		onService("{" + this.redis.keyPrefix() + "}", (first, second) -> {
			LeaseEngine engine = second.getBean(LeaseEngine.class);
			await("a subscription").atMost(SOON).until(() -> engine.status().listening());
			assertHandedOver(first, second);
		});
		assertThat(output).doesNotContain("Wake-ups");
	}

	private static void assertHandedOver(ConfigurableApplicationContext first, ConfigurableApplicationContext second) {
		LockLease held = first.getBean(LockService.class).acquire("a");
		CompletableFuture<LockLease> next = second.getBean(LockService.class)
			.acquireAsync(LockRequest.of("a").waitTime(Duration.ofMinutes(1)));
		await("a place in the queue").atMost(SOON)
			.until(() -> second.getBean(LockService.class).status("a").waiting() == 1);
		held.release();
		assertThat(next).succeedsWithin(SOON).satisfies(LockLease::close);
	}

	private void onService(String prefix,
			BiConsumer<ConfigurableApplicationContext, ConfigurableApplicationContext> test) throws IOException {
		RedisCluster cluster = this.redis.startCluster(1);
		RedisServer node = cluster.nodes().get(0);
		try (CommandProxy service = new CommandProxy(node.host(), node.port(),
				(words) -> isRefused(words, TestApplication.channelPrefix(prefix))
						? CommandProxy.error("ERR Script attempted to access keys that do not hash to the same slot")
						: words)) {
			announce(node, service.port());
			List<String> properties = List.of("spring.data.redis.cluster.nodes=" + node.host() + ":" + service.port(),
					"holdfast.lock.lease-time=2m", "holdfast.wake-up.handoff-timeout=60s");
			try (ConfigurableApplicationContext first = TestApplication.start(node.host(), service.port(), prefix,
					properties);
					ConfigurableApplicationContext second = TestApplication.start(node.host(), service.port(), prefix,
							properties)) {
				test.accept(first, second);
			}
		}
	}

	/**
	 * Recognise a script with the channel of an instance as an argument. The real service
	 * refuses only PUBLISH inside the script, which goes on.
	 */
	private static boolean isRefused(List<String> words, String channelPrefix) {
		if (!words.get(0).toUpperCase(Locale.ROOT).startsWith("EVAL") || words.get(2).equals("0")) {
			return false;
		}
		int slot = SlotHash.getSlot(words.get(3));
		return words.stream()
			.skip(3)
			.anyMatch((word) -> word.matches(Pattern.quote(channelPrefix) + "[0-9a-f]{32}.*")
					&& SlotHash.getSlot(word) != slot);
	}

	private void announce(RedisServer node, int port) {
		StringRedisTemplate administrator = new StringRedisTemplate(
				this.redis.connectionFactory(node.host(), node.port()));
		administrator.execute((RedisCallback<@Nullable Object>) (connection) -> {
			String version = connection.serverCommands().info("server").getProperty("redis_version");
			assumeFalse(version.startsWith("6."), "a port that is announced later is used by Redis from 7.0 on");
			connection.serverCommands().setConfig("cluster-announce-port", String.valueOf(port));
			return null;
		});
	}

}
