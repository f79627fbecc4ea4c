package io.holdfast.faults;

import java.util.stream.Stream;

import io.holdfast.testing.DocumentedRights;
import io.holdfast.testing.RedisCluster;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

/**
 * A user with few rights in a cluster, where Lettuce needs some of its own.
 */
@WithRedis
class ClusterRightsTests {

	private static RedisCluster cluster;

	@AutoClose
	private final Fleet fleet;

	ClusterRightsTests(TestRedis redis) {
		this.fleet = Fleet.on(redis, cluster);
	}

	@BeforeAll
	static void start(TestRedis redis) {
		cluster = redis.startCluster(3);
	}

	private static void allow(DocumentedRights rights) {
		for (RedisServer node : cluster.nodes()) {
			node.run((commands) -> commands.dispatch(CommandType.ACL, new StatusOutput<>(StringCodec.UTF8),
					new CommandArgs<>(StringCodec.UTF8).add("SETUSER").add("app").addValues(rights.rules("secret"))));
		}
	}

	private Instance start() {
		Instance instance = this.fleet.start("spring.data.redis.username=app", "spring.data.redis.password=secret",
				"holdfast.lock.key-prefix=lock:", "holdfast.semaphore.key-prefix=semaphore:",
				"holdfast.wake-up.channel-prefix=holdfast:wake:");
		instance.awaitListening();
		return instance;
	}

	@Test
	@DisplayName("F35 The documented rights for a cluster are enough")
	void rights() {
		allow(DocumentedRights.inCluster());
		start().assertHandsOverTo(start());
	}

	@Test
	@DisplayName("F35 The documented rights for wake-ups by a single master are enough")
	void rightsOfShards() {
		RedisServer node = cluster.nodes().get(0);
		assumeFalse(node.run((commands) -> commands.info("server")).contains("redis_version:6."),
				"SSUBSCRIBE exists from Redis 7.0 on");
		allow(DocumentedRights.inShardingCluster());
		cluster.nodes().forEach((one) -> one.run(RedisCommands::aclLogReset));
		Instance instance = start();
		Instance other = start();
		await("a channel of each at each master").atMost(SOON)
			.until(() -> cluster.nodes()
				.stream()
				.allMatch((one) -> one.run(RedisCommands::pubsubShardChannels).size() == 2));
		instance.assertHandsOverTo(other);
		assertThat(cluster.nodes()).allMatch((one) -> one.run(ClusterRightsTests::refused)
			.noneMatch((command) -> command.equals("ssubscribe") || command.equals("spublish")));
	}

	private static Stream<String> refused(RedisCommands<String, String> commands) {
		return commands.aclLog().stream().map((entry) -> String.valueOf(entry.get("object")));
	}

}
