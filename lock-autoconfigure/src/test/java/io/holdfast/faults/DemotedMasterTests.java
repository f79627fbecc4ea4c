package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.testing.FaultProxy;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A master that another one has replaced, behind one address: it becomes a replica, but
 * ends no connection.
 */
@WithRedis
@ExtendWith(OutputCaptureExtension.class)
class DemotedMasterTests {

	@Test
	@DisplayName("Leases are held and granted by the new master after some seconds, although the old one stays connected")
	void replaced(TestRedis redis, CapturedOutput output) {
		RedisServer old = RedisServer.start();
		redis.closeAtEnd(old::close);
		RedisServer next = RedisServer.start();
		redis.closeAtEnd(next::close);
		FaultProxy address = FaultProxy.to(old.host(), old.port());
		redis.closeAtEnd(address::close);
		on(next, (commands) -> commands.replicaof(old.host(), old.port()));
		await().atMost(Duration.ofSeconds(20)).until(() -> isReplicated(next));
		ConfigurableApplicationContext application = TestApplication.start(TestApplication.class, address.host(),
				address.port(), redis.keyPrefix(), List.of("holdfast.lock.lease-time=10s"));
		redis.closeAtEnd(application::close);
		LockService locks = application.getBean(LockService.class);
		LockLease held = locks.acquire(LockRequest.of("held"));
		await().until(() -> isKnown(next, redis.keyPrefix() + "held"));
		on(next, RedisCommands::replicaofNoOne);
		address.redirect(next.host(), next.port());
		on(old, (commands) -> commands.replicaof(next.host(), next.port()));
		locks.acquire(LockRequest.of("wanted").waitTime(Duration.ofSeconds(8))).close();
		assertThat(held.isHeld()).isTrue();
		held.extend(Duration.ofSeconds(10));
		held.release();
		assertThat(output).contains("as it is a replica (READONLY): its connection is opened again");
	}

	private static boolean isReplicated(RedisServer replica) {
		return ask(replica, (commands) -> commands.info("replication")).contains("master_link_status:up");
	}

	private static boolean isKnown(RedisServer server, String key) {
		return ask(server, (commands) -> commands.keys("*" + key + "*")).size() > 0;
	}

	private static void on(RedisServer server, Consumer<RedisCommands<String, String>> use) {
		ask(server, (commands) -> {
			use.accept(commands);
			return true;
		});
	}

	private static <T> T ask(RedisServer server, Function<RedisCommands<String, String>, T> use) {
		RedisClient client = RedisClient.create(RedisURI.create(server.host(), server.port()));
		try (StatefulRedisConnection<String, String> connection = client.connect()) {
			return use.apply(connection.sync());
		}
		finally {
			client.shutdown(Duration.ZERO, Duration.ofSeconds(1));
		}
	}

}
