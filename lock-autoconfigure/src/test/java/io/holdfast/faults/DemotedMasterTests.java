package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.stream.Stream;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.testing.FaultProxy;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import io.lettuce.core.api.sync.RedisCommands;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A master that was replaced behind the same address: it becomes a replica, but keeps its
 * connections.
 */
@WithRedis
@ExtendWith(OutputCaptureExtension.class)
class DemotedMasterTests {

	private final TestRedis redis;

	private final RedisServer next;

	private RedisServer old;

	DemotedMasterTests(TestRedis redis) {
		this.redis = redis;
		this.next = redis.startServer();
		this.old = redis.startServer();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("The new master holds and grants leases after some seconds, although the old master stays connected")
	void replaced(Former former, CapturedOutput output) {
		this.old = this.redis.startServer(former.settings.toArray(String[]::new));
		FaultProxy address = address();
		replicate(this.next, this.old);
		LockService locks = locks("spring.data.redis.port=" + address.port());
		LockLease held = held(locks);
		this.next.run(RedisCommands::replicaofNoOne);
		address.redirect(this.next.host(), this.next.port());
		former.demotion.accept(this.old, this.next);
		assertGrantedBeside(held, locks);
		assertThat(output).containsPattern("\\(.*" + former.word + ".*\\): its connection is opened again");
	}

	@Test
	@DisplayName("With static replicas, the new master is found when the old master answers as a replica")
	void staticReplicas() {
		replicate(this.next, this.old);
		LockService locks = locks(nodes());
		LockLease held = held(locks);
		this.next.run(RedisCommands::replicaofNoOne);
		this.old.run((commands) -> commands.replicaof(this.next.host(), this.next.port()));
		assertGrantedBeside(held, locks);
	}

	@Slow
	@ParameterizedTest(name = "Wait time of {0} s")
	@ValueSource(ints = { 0, 5 })
	@DisplayName("With static replicas, the new master is found although the old master is dead")
	void deadMaster(int seconds) {
		replicate(this.next, this.old);
		LockService locks = locks(nodes(), "spring.data.redis.timeout=2s");
		locks.acquire("held").release();
		this.old.kill();
		this.next.run(RedisCommands::replicaofNoOne);
		await("a grant of the new master").atMost(Duration.ofSeconds(40))
			.ignoreExceptionsInstanceOf(LeaseStoreException.class)
			.until(() -> locks.tryAcquire(LockRequest.of("wanted").waitTime(Duration.ofSeconds(seconds))).isPresent());
	}

	@Test
	@DisplayName("Grants are confirmed by the replicas of the new master, although the old master stays connected")
	void confirmations() {
		RedisServer third = this.redis.startServer();
		FaultProxy address = address();
		replicate(this.next, this.old);
		replicate(third, this.next);
		LockService locks = locks("spring.data.redis.port=" + address.port(), "holdfast.redis.min-replicas=1");
		locks.acquire(LockRequest.of("held"));
		this.next.run(RedisCommands::replicaofNoOne);
		address.redirect(this.next.host(), this.next.port());
		// A replica without a link to its master, and so without new data.
		this.old.run((commands) -> commands.replicaof(this.next.host(), 1));
		locks.acquire(LockRequest.of("wanted").waitTime(Duration.ofSeconds(8))).close();
	}

	/** Put a proxy before the old master. */
	private FaultProxy address() {
		FaultProxy address = FaultProxy.to(this.old.host(), this.old.port());
		this.redis.closeAtEnd(address::close);
		return address;
	}

	private String nodes() {
		return "spring.data.redis.masterreplica.nodes=" + this.old.host() + ":" + this.old.port() + ","
				+ this.next.host() + ":" + this.next.port();
	}

	private LockLease held(LockService locks) {
		LockLease held = locks.acquire(LockRequest.of("held"));
		await().until(() -> isKnown(this.next, this.redis.keyPrefix() + "held"));
		return held;
	}

	private static void assertGrantedBeside(LockLease held, LockService locks) {
		locks.acquire(LockRequest.of("wanted").waitTime(Duration.ofSeconds(8))).close();
		assertThat(held.isHeld()).isTrue();
		held.extend(Duration.ofSeconds(10));
		held.release();
	}

	private LockService locks(String... properties) {
		ConfigurableApplicationContext application = TestApplication.start(this.redis, TestApplication.class,
				Stream.concat(Stream.of(properties), Stream.of("holdfast.lock.lease-time=10s")).toArray(String[]::new));
		return application.getBean(LockService.class);
	}

	private static void replicate(RedisServer replica, RedisServer master) {
		replica.run((commands) -> commands.replicaof(master.host(), master.port()));
		await().atMost(Duration.ofSeconds(20)).until(() -> isReplicated(replica));
	}

	private static boolean isReplicated(RedisServer replica) {
		return replica.run((commands) -> commands.info("replication")).contains("master_link_status:up");
	}

	private static boolean isKnown(RedisServer server, String key) {
		return server.run((commands) -> commands.keys("*" + key + "*")).size() > 0;
	}

	/** The state of the former master. */
	enum Former {

		REPLICA("READONLY", List.of(), (old, next) -> follow(old, next, next.port())),

		/** A replica without a link to its master. */
		STALE_REPLICA("stale replica|MASTERDOWN", List.of("--replica-serve-stale-data", "no"),
				(old, next) -> follow(old, next, 1)),

		/** A master that does not know of its replacement, and whose replica has gone. */
		MASTER_WITHOUT_REPLICAS("NOREPLICAS", List.of("--min-replicas-to-write", "1"), (old, next) -> {
		});

		private final String word;

		private final List<String> settings;

		private final BiConsumer<RedisServer, RedisServer> demotion;

		Former(String word, List<String> settings, BiConsumer<RedisServer, RedisServer> demotion) {
			this.word = word;
			this.settings = settings;
			this.demotion = demotion;
		}

		private static void follow(RedisServer old, RedisServer next, int port) {
			old.run((commands) -> commands.replicaof(next.host(), port));
		}

	}

}
