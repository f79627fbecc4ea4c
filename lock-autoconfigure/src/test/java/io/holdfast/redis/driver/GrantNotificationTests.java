package io.holdfast.redis.driver;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.redis.RedisLeaseStore;
import io.holdfast.redis.key.TestOptions;
import io.holdfast.redis.script.Script;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Announcements of grants to instances with a subscription at a replica, and beside
 * clients that subscribe to all channels.
 */
@WithRedis
class GrantNotificationTests {

	private static final String HERE = "0123456789abcdef0123456789abcdef";

	private static final String ABSENT = "fedcba9876543210fedcba9876543210";

	private static final Duration SOON = Duration.ofSeconds(10);

	private final TestRedis redis;

	private final RedisServer master;

	private final StringRedisTemplate template;

	private final RedisLeaseStore store;

	private final RedisClient client = RedisClient.create();

	private final BlockingQueue<String> granted = new LinkedBlockingQueue<>();

	GrantNotificationTests(TestRedis redis) {
		this.redis = redis;
		this.master = redis.startServer();
		this.template = new StringRedisTemplate(redis.connectionFactory(this.master.host(), this.master.port()));
		this.store = new RedisLeaseStore(this.template.getRequiredConnectionFactory(), TestOptions.defaults());
		this.store.start(HERE, new StoreNotifications() {

			@Override
			public void granted(Resource resource, String token, long fence, long ttlMillis) {
				GrantNotificationTests.this.granted.add(token);
			}

			@Override
			public void listening() {
				// Awaited by its state.
			}

		});
		await().atMost(SOON).until(this.store::isListening);
	}

	@AfterEach
	void close() {
		this.store.close();
		this.client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
	}

	private BlockingQueue<String> listen(RedisServer server, String channel) {
		StatefulRedisPubSubConnection<String, String> connection = this.client
			.connectPubSub(RedisURI.create(server.host(), server.port()));
		BlockingQueue<String> messages = new LinkedBlockingQueue<>();
		connection.addListener(new RedisPubSubAdapter<>() {

			@Override
			public void message(String from, String message) {
				messages.add(message);
			}

		});
		connection.sync().subscribe(channel);
		return messages;
	}

	private static AcquireCommand ask(String token) {
		return new AcquireCommand(token, Resource.ALL, Resource.ALL, true, 30_000, 5_000);
	}

	private AcquireReply acquire(Resource resource, String token) {
		return this.store.acquire(resource, ask(token), true).orTimeout(10, TimeUnit.SECONDS).join();
	}

	private void release(Resource resource, String token) {
		assertThat(this.store.release(resource, ask(token), null).orTimeout(10, TimeUnit.SECONDS).join().released())
			.isTrue();
	}

	private void publish(String channel, String message) {
		this.template.convertAndSend(channel, message);
	}

	@ParameterizedTest
	@EnumSource(Kind.class)
	@DisplayName("Subscribers at a replica do not receive a revoked grant either")
	void revokedGrantIsNotHeard(Kind kind) throws Exception {
		RedisServer replica = this.redis.startServer("--replicaof", this.master.host(),
				Integer.toString(this.master.port()));
		awaitReplica(replica);
		String channel = "holdfast:wake:" + ABSENT;
		BlockingQueue<String> heard = listen(replica, channel);
		Resource resource = new Resource(kind, "key");
		assertThat(acquire(resource, HERE + ":1")).isInstanceOf(Granted.class);
		assertThat(acquire(resource, ABSENT + ":1")).isInstanceOf(Busy.class);
		assertThat(acquire(resource, HERE + ":2")).isInstanceOf(Busy.class);
		release(resource, HERE + ":1");
		assertThat(this.granted.poll(10, TimeUnit.SECONDS)).isEqualTo(HERE + ":2");
		publish(channel, "the next message");
		assertThat(heard.poll(10, TimeUnit.SECONDS)).isEqualTo("the next message");
		release(resource, HERE + ":2");
	}

	private void awaitReplica(RedisServer replica) {
		StringRedisTemplate other = new StringRedisTemplate(
				this.redis.connectionFactory(replica.host(), replica.port()));
		await("replica").atMost(SOON)
			.until(() -> "up".equals(other.execute((RedisConnection connection) -> connection.serverCommands()
				.info("replication")
				.getProperty("master_link_status"))));
	}

	@ParameterizedTest
	@EnumSource(Kind.class)
	@DisplayName("A client that subscribes to all channels does not keep a dead waiter's turn")
	void patternsDoNotCount(Kind kind) throws Exception {
		RedisURI uri = RedisURI.create(this.master.host(), this.master.port());
		this.client.connectPubSub(uri).sync().psubscribe("*");
		Resource resource = new Resource(kind, "key");
		assertThat(acquire(resource, HERE + ":1")).isInstanceOf(Granted.class);
		for (String dead : List.of(":1", ":2", ":3")) {
			assertThat(acquire(resource, ABSENT + dead)).isInstanceOf(Busy.class);
		}
		assertThat(acquire(resource, HERE + ":2")).isInstanceOf(Busy.class);
		release(resource, HERE + ":1");
		assertThat(this.granted.poll(10, TimeUnit.SECONDS)).isEqualTo(HERE + ":2");
		release(resource, HERE + ":2");
	}

	@Test
	@DisplayName("A message of an unknown kind is ignored, and the next grant is received")
	void unknownMessages() throws Exception {
		Resource lock = new Resource(Kind.LOCK, "key");
		assertThat(acquire(lock, HERE + ":1")).isInstanceOf(Granted.class);
		assertThat(acquire(lock, HERE + ":2")).isInstanceOf(Busy.class);
		for (String unknown : List.of("W " + HERE + ":1 key", "Z", "", "L of another form")) {
			publish("holdfast:wake:" + HERE, unknown);
		}
		release(lock, HERE + ":1");
		assertThat(this.granted.poll(10, TimeUnit.SECONDS)).isEqualTo(HERE + ":2");
		release(lock, HERE + ":2");
	}

	@Test
	@DisplayName("A client that subscribes to all channels does not confirm a subscription at a replica")
	void patternsDoNotConfirmSubscription() {
		RedisURI uri = RedisURI.create(this.master.host(), this.master.port());
		this.client.connectPubSub(uri).sync().psubscribe("*");
		List<?> receivers = this.template.execute(
				RedisScript.of(new String(Script.PING.text(), StandardCharsets.UTF_8), List.class), List.of(),
				"holdfast:wake:" + ABSENT, "ping 1", "PUBLISH");
		assertThat(receivers).isEqualTo(List.of(0L));
	}

}
