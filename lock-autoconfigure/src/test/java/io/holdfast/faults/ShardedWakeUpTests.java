package io.holdfast.faults;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.IntStream;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.redis.driver.ClusterMasters;
import io.holdfast.testing.HalfOpenProxy;
import io.holdfast.testing.RedisCluster;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import io.lettuce.core.KillArgs;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * Grants in a cluster with sharded channels, which go to one master only, and without,
 * which go to all masters. Waiters poll later than a test waits.
 */
@WithRedis
@ExtendWith(OutputCaptureExtension.class)
class ShardedWakeUpTests {

	private static final String END = "end";

	/** Two intervals of the watch: for a lost connection, and for its successor. */
	private static final Duration NOTICED = Duration.ofSeconds(50);

	private static final List<HalfOpenProxy> proxies = new ArrayList<>();

	private static RedisCluster cluster;

	private final Fleet fleet;

	private final String channels;

	private final RedisClient client = RedisClient.create();

	/** Messages of any node for the whole cluster, except for pings. */
	private final BlockingQueue<String> bus = new LinkedBlockingQueue<>();

	ShardedWakeUpTests(TestRedis redis) {
		this.fleet = Fleet.on(redis, cluster);
		this.channels = TestApplication.channelPrefix(redis.keyPrefix());
		RedisServer node = cluster.nodes().get(0);
		StatefulRedisPubSubConnection<String, String> connection = this.client
			.connectPubSub(RedisURI.create(node.host(), node.port()));
		connection.addListener(new RedisPubSubAdapter<>() {

			@Override
			public void message(String pattern, String channel, String message) {
				if (!message.startsWith("ping ")) {
					ShardedWakeUpTests.this.bus.add(message);
				}
			}

		});
		connection.sync().psubscribe(this.channels + "*");
	}

	@BeforeAll
	static void start(TestRedis redis) {
		cluster = redis.startCluster(3);
		if (isSharding()) {
			cluster.nodes().forEach((node) -> {
				HalfOpenProxy proxy = new HalfOpenProxy(node.host(), node.port());
				proxies.add(proxy);
				node.run((commands) -> commands.configSet("cluster-announce-port", "" + proxy.port()));
			});
			await("all nodes known by their proxies").atMost(SOON)
				.until(() -> cluster.nodes()
					.stream()
					.map((node) -> node.run(RedisCommands::clusterNodes))
					.allMatch((seen) -> proxies.stream().allMatch((proxy) -> seen.contains(":" + proxy.port() + "@"))));
		}
	}

	@AfterAll
	static void closeProxies() throws IOException {
		for (HalfOpenProxy proxy : proxies) {
			proxy.close();
		}
		proxies.clear();
	}

	@AfterEach
	void close() {
		proxies.forEach(HalfOpenProxy::pass);
		this.fleet.close();
		this.client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
		allow("+ssubscribe");
		allow("+spublish");
	}

	private static boolean isSharding() {
		RedisServer node = cluster.nodes().get(0);
		return !node.run((commands) -> commands.info("server")).contains("redis_version:6.");
	}

	private static void allow(String right) {
		if (isSharding()) {
			for (RedisServer node : cluster.nodes()) {
				node.run((commands) -> commands.dispatch(CommandType.ACL, new StatusOutput<>(StringCodec.UTF8),
						new CommandArgs<>(StringCodec.UTF8).add("SETUSER").add("default").add(right)));
			}
		}
	}

	private static boolean hasRefused(RedisServer node) {
		return node.run((commands) -> commands.info("commandstats"))
			.lines()
			.anyMatch((line) -> line.startsWith("cmdstat_ssubscribe:") && !line.contains("rejected_calls=0"));
	}

	private Instance start() {
		Instance instance = this.fleet.start("holdfast.wake-up.handoff-timeout=10m");
		instance.awaitListening();
		return instance;
	}

	/** A key at each master. */
	private List<String> keys() {
		return cluster.nodes().stream().map((node) -> key((name) -> cluster.nodeOf(name) == node)).toList();
	}

	private String key(Predicate<String> fits) {
		return IntStream.range(0, 1000)
			.mapToObj((i) -> "key" + i)
			.filter((key) -> fits.test(this.fleet.lockKey(key)))
			.findFirst()
			.orElseThrow();
	}

	private static LockRequest request(String key) {
		return LockRequest.of(key).waitTime(Duration.ofMinutes(2)).leaseTime(Duration.ofMinutes(10));
	}

	private Waiting waiting(Instance from, Instance to, String key) {
		LockLease held = from.acquire(request(key));
		CompletableFuture<LockLease> next = to.acquireInBackground(request(key));
		await("a waiter in the queue").atMost(SOON).until(() -> from.locks().status(key).waiting() == 1);
		return new Waiting(held, next);
	}

	/**
	 * Hand over at each master, and return the grants that were published to the whole
	 * cluster.
	 */
	private List<String> published(Instance from, Instance to) {
		this.bus.clear();
		for (String key : keys()) {
			waiting(from, to, key).handOver();
			// This message follows all earlier messages of the master.
			cluster.nodeOf(this.fleet.lockKey(key)).run((node) -> node.publish(this.channels + key, END));
		}
		List<String> grants = new ArrayList<>();
		for (int ends = 0; ends < keys().size();) {
			String message = heard();
			if (message.equals(END)) {
				ends++;
			}
			else if (message.startsWith("L ")) {
				grants.add(message);
			}
		}
		return grants;
	}

	private String heard() {
		try {
			String message = this.bus.poll(10, TimeUnit.SECONDS);
			assertThat(message).isNotNull();
			return message;
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private void awaitSharded(Instance from, Instance to) {
		await("grants at one master only").atMost(Duration.ofSeconds(40)).until(() -> published(from, to).isEmpty());
	}

	@Test
	@DisplayName("A grant is published at one master only")
	void oneMaster() {
		assumeTrue(isSharding(), "SPUBLISH exists from Redis 7.0 on");
		Instance instance = start();
		Instance other = start();
		awaitSharded(instance, other);
		awaitSharded(other, instance);
	}

	@Test
	@DisplayName("A forced release is published at one master only")
	void forcedRelease() {
		assumeTrue(isSharding(), "SPUBLISH exists from Redis 7.0 on");
		Instance instance = start();
		Instance other = start();
		awaitSharded(instance, other);
		awaitSharded(other, instance);
		this.bus.clear();
		for (String key : keys()) {
			LockLease held = instance.acquire(request(key));
			assertThat(other.locks().admin().forceRelease(key)).isTrue();
			await("loss").atMost(SOON).until(() -> !held.isHeld());
			assertThat(held.release()).isEqualTo(ReleaseResult.LOST);
		}
		assertThat(this.bus).noneMatch((message) -> message.startsWith("E "));
	}

	@Test
	@DisplayName("Subscriptions that are cut are opened again, and waiters are woken up")
	void subscriptionsCut() {
		assumeTrue(isSharding(), "SPUBLISH exists from Redis 7.0 on");
		Instance instance = start();
		Instance other = start();
		awaitSharded(instance, other);
		Waiting waiting = waiting(instance, other, "cut");
		cluster.nodes()
			.forEach((node) -> node.run((commands) -> commands.clientList()
				.lines()
				.filter((one) -> one.contains(" ssub=1"))
				.map((one) -> one.replaceAll("^id=(\\d+) .*", "$1"))
				.mapToLong((id) -> commands.clientKill(KillArgs.Builder.id(Long.parseLong(id))))
				.sum()));
		waiting.handOver();
		awaitSharded(instance, other);
	}

	@Slow
	@Test
	@DisplayName("The slot of a channel moves while its instance waits: the instance is woken up, and soon has a"
			+ " channel in another slot")
	void channelMoves() {
		assumeTrue(isSharding(), "SPUBLISH exists from Redis 7.0 on");
		Instance instance = start();
		Instance other = start();
		awaitSharded(instance, other);
		for (int i = 0; i < cluster.nodes().size(); i++) {
			List<Waiting> waiting = keys().stream().map((key) -> waiting(instance, other, key)).toList();
			// The first slot of each master, in turn.
			for (int slot : new int[] { 0, 5461, 10_922 }) {
				cluster.move(ClusterMasters.keyAt(slot, "any")).finish();
			}
			waiting.forEach(Waiting::handOver);
			awaitSharded(instance, other);
		}
	}

	@Slow
	@Test
	@DisplayName("Connections of subscriptions are lost without notice: waiters are woken up once the loss is noticed")
	void halfOpen() {
		assumeTrue(isSharding(), "SPUBLISH exists from Redis 7.0 on");
		Instance instance = start();
		Instance other = start();
		awaitSharded(instance, other);
		List<Waiting> waiting = keys().stream().map((key) -> waiting(instance, other, key)).toList();
		proxies.forEach((proxy) -> proxy.lose("SSUBSCRIBE"));
		proxies.forEach(HalfOpenProxy::pass);
		waiting.forEach((one) -> one.held().release());
		waiting.forEach((one) -> assertThat(one.next()).succeedsWithin(NOTICED).satisfies(LockLease::close));
		awaitSharded(instance, other);
	}

	@Slow
	@Test
	@DisplayName("Subscriptions at one master are lost as often as they are opened: the loss is reported, and waiters"
			+ " poll until they stand")
	void halfOpenAgainAndAgain(CapturedOutput output) {
		assumeTrue(isSharding(), "SPUBLISH exists from Redis 7.0 on");
		Instance instance = start();
		Instance other = start();
		awaitSharded(instance, other);
		HalfOpenProxy proxy = proxies.get(1);
		String key = keys().get(1);
		Waiting waiting = waiting(instance, other, key);
		proxy.lose("SSUBSCRIBE");
		waiting.held().release();
		assertThat(waiting.next()).succeedsWithin(NOTICED).satisfies(LockLease::close);
		LeaseEngine engine = other.engine();
		await("a reason").atMost(NOTICED)
			.until(() -> engine.status().trouble(),
					(trouble) -> trouble != null && trouble.contains(":" + proxy.port() + ": The subscription"));
		assertThat(engine.status().listening()).isFalse();
		// Both instances have lost their subscriptions, so the grant goes to all nodes
		// there.
		assertThat(published(instance, other)).hasSize(1).allMatch((grant) -> grant.endsWith(" " + key));
		proxy.pass();
		await("subscriptions").atMost(NOTICED).until(() -> engine.status().listening());
		assertThat(engine.status().trouble()).isNull();
		awaitSharded(instance, other);
		assertThat(output).contains("Wake-ups are received from Redis again");
	}

	@ParameterizedTest(name = "Grants to an instance without the right {0} go to the whole cluster, once it reports"
			+ " the missing right")
	@ValueSource(strings = { "ssubscribe", "spublish" })
	void noRight(String command, CapturedOutput output) {
		allow("-" + command);
		Instance instance = start();
		Instance other = start();
		await("both log lines").atMost(SOON)
			.until(() -> output.toString().split("Wake-ups go to all nodes of the cluster", -1).length == 3);
		assertThat(published(instance, other)).hasSameSizeAs(keys());
		assertThat(published(other, instance)).hasSameSizeAs(keys());
		assertThat(instance.engine().status().trouble()).isNull();
	}

	@Test
	@DisplayName("Instances with and without sharded channels wake each other up")
	void mixed(CapturedOutput output) {
		cluster.nodes().forEach((node) -> node.run(RedisCommands::configResetstat));
		allow("-ssubscribe");
		Instance old = start();
		await("the log line").atMost(SOON).until(() -> output.toString().contains("Wake-ups go to all nodes"));
		// Only the first refusal is logged.
		await("refusals").atMost(SOON)
			.until(() -> !isSharding() || cluster.nodes().stream().allMatch(ShardedWakeUpTests::hasRefused));
		allow("+ssubscribe");
		Instance current = start();
		Instance another = start();
		if (isSharding()) {
			awaitSharded(another, current);
		}
		assertThat(published(current, old)).hasSameSizeAs(keys());
		assertThat(published(old, current)).hasSameSizeAs(keys());
	}

	private record Waiting(LockLease held, CompletableFuture<LockLease> next) {

		void handOver() {
			this.held.release();
			assertThat(this.next).succeedsWithin(SOON).satisfies(LockLease::close);
		}

	}

}
