package io.holdfast.redis;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import io.holdfast.async.DaemonThreads;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreDiagnostic;
import io.holdfast.redis.driver.ScriptExecutor;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.key.RedisStoreOptions.Replicas;
import io.holdfast.redis.key.TestOptions;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.RedisTestCase;
import org.assertj.core.api.AbstractStringAssert;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.RedisStaticMasterReplicaConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.awaitility.Awaitility.await;

/**
 * Findings about a Redis server that may harm leases.
 */
@Execution(ExecutionMode.CONCURRENT)
class RedisDiagnosticsTests extends RedisTestCase {

	/** Commands of the scripts that the check tries beforehand. */
	private static final List<String> COMMANDS = List.of("get", "mget", "set", "del", "pttl", "pexpire", "pexpireat",
			"zadd", "zrem", "zcard", "zcount", "zscore", "zrange", "zrangebyscore", "zremrangebyscore", "hget", "hmget",
			"hset", "hdel", "time", "publish", "pubsub");

	/** Further commands for watching the fleet. */
	private static final List<String> WATCH = List.of("scan", "hgetall", "rpush", "llen", "lrange");

	private static final String[] NARROW = Stream.concat(
			Stream.of("on", ">secret", "~lock:*", "~{lock:*", "~semaphore:*", "~{semaphore:*", "~holdfast:fleet*",
					"&holdfast:wake:*", "-@all", "+eval", "+evalsha", "+info"),
			Stream.concat(COMMANDS.stream(), WATCH.stream()).map((command) -> "+" + command))
		.toArray(String[]::new);

	private StringRedisTemplate observer(RedisServer server) {
		return new StringRedisTemplate(this.redis.connectionFactory(server.host(), server.port()));
	}

	private RedisLeaseStore store(RedisConnectionFactory factory) {
		return new RedisLeaseStore(factory, TestOptions.defaults());
	}

	private List<StoreDiagnostic> examine(RedisLeaseStore store) {
		this.redis.closeAtEnd(store::close);
		return store.examine().orTimeout(30, TimeUnit.SECONDS).join();
	}

	private List<StoreDiagnostic> examine(RedisConnectionFactory factory) {
		return examine(store(factory));
	}

	private List<StoreDiagnostic> examine(RedisServer server) {
		return examine(this.redis.connectionFactory(server.host(), server.port()));
	}

	/** Assert a single finding, and return its text. */
	private static AbstractStringAssert<?> assertFinding(List<StoreDiagnostic> findings) {
		return assertThat(findings).singleElement().extracting(StoreDiagnostic::text, InstanceOfAssertFactories.STRING);
	}

	private List<StoreDiagnostic> examineAs(RedisServer server, String... rights) {
		setUser(server, rights);
		return examine(this.redis.connectionFactory(user(server)));
	}

	private void setUser(RedisServer server, String... rights) {
		observer(server).execute((RedisCallback<@Nullable Object>) (connection) -> connection.execute("ACL",
				Stream.concat(Stream.of("SETUSER", "app", "reset"), Stream.of(rights))
					.map(String::getBytes)
					.toArray(byte[][]::new)));
	}

	private static RedisStandaloneConfiguration user(RedisServer server) {
		RedisStandaloneConfiguration configuration = new RedisStandaloneConfiguration(server.host(), server.port());
		configuration.setUsername("app");
		configuration.setPassword("secret");
		return configuration;
	}

	@Test
	@DisplayName("The examination of a store that is closed fails, and finds no lack of rights")
	void closed() {
		LettuceConnectionFactory factory = this.redis.connectionFactory();
		ScriptExecutor executor = new ScriptExecutor(factory, () -> {
		}, new DaemonThreads());
		executor.close(() -> {
		});
		RedisDiagnostics diagnostics = new RedisDiagnostics(factory, executor, TestOptions.defaults());
		assertThatException().isThrownBy(() -> diagnostics.start().orTimeout(30, TimeUnit.SECONDS).join())
			.withMessageContaining("was closed");
	}

	@Test
	@DisplayName("Keys with one hash tag need no rights to companions without that tag")
	void oneTag() {
		RedisServer server = this.redis.startServer();
		setUser(server, with("resetkeys", "~{shop}:*", "resetchannels", "&{shop}:*"));
		RedisStoreOptions options = new RedisStoreOptions("{shop}:lock:", "{shop}:semaphore:", "{shop}:wake:", null,
				Duration.ofHours(1), Duration.ofSeconds(5), false, "{shop}:fleet", null, null);
		assertThat(examine(new RedisLeaseStore(this.redis.connectionFactory(user(server)), options))).isEmpty();
	}

	@Test
	@DisplayName("A healthy Redis has no findings, and the check leaves no keys")
	void nothing() {
		RedisServer server = this.redis.startServer("--maxmemory", "100mb");
		assertThat(examine(server)).isEmpty();
		assertThat(observer(server).keys("*")).isEmpty();
	}

	@ParameterizedTest
	@ValueSource(strings = { "allkeys-lru", "volatile-ttl" })
	@DisplayName("F33 An eviction policy that may evict locks is found, but only if memory is bounded")
	void eviction(String policy) {
		RedisServer server = this.redis.startServer("--maxmemory-policy", policy);
		assertThat(examine(server)).isEmpty();
		observer(server).execute((RedisCallback<@Nullable Object>) (connection) -> {
			connection.serverCommands().setConfig("maxmemory", "100000000");
			return null;
		});
		assertThat(examine(server)).singleElement().satisfies((finding) -> {
			assertThat(finding.certain()).isTrue();
			assertThat(finding.text()).contains("may evict locks and permits while they are held",
					"maxmemory-policy is " + policy, "maxmemory is 100000000 bytes", "noeviction");
		});
	}

	@Test
	@DisplayName("A node of a cluster that is configured as a single server is found")
	void clusterAsServer() {
		RedisServer node = this.redis.startCluster(3).nodes().get(0);
		assertFinding(examine(node)).startsWith("Redis is a node of a cluster")
			.contains("spring.data.redis.cluster.nodes");
	}

	@Test
	@DisplayName("In a cluster the node is named")
	void cluster() {
		OneNodeCluster cluster = new OneNodeCluster(this.redis);
		LettuceConnectionFactory factory = cluster.connectionFactory();
		assertThat(examine(factory)).isEmpty();
		new StringRedisTemplate(factory).execute((RedisCallback<@Nullable Object>) (connection) -> {
			connection.serverCommands().setConfig("maxmemory", "100000000");
			connection.serverCommands().setConfig("maxmemory-policy", "allkeys-lru");
			return null;
		});
		assertFinding(examine(factory)).containsPattern("Redis at 127\\.0\\.0\\.1:\\d+ may evict locks");
	}

	@Test
	@DisplayName("Replicas that Redis wants for each write and does not have are found")
	void replicasForWrites() {
		RedisServer server = this.redis.startServer("--min-replicas-to-write", "1");
		assertFinding(examine(server)).contains("refuses to write", "wants 1 replicas", "has 0");
		assertFinding(examineAs(server, NARROW)).as("without the right to read the configuration")
			.contains("refuses to write", "wants some replicas");
		startReplica(server);
		assertThat(examine(server)).isEmpty();
	}

	private RedisServer startReplica(RedisServer master) {
		RedisServer replica = this.redis.startServer("--replicaof", master.host(), Integer.toString(master.port()));
		StringRedisTemplate observer = observer(master);
		await("replica").atMost(Duration.ofSeconds(20))
			.until(() -> observer.<String>execute(
					(RedisCallback<String>) (connection) -> connection.serverCommands().info("replication").toString())
				.contains("state=online"));
		return replica;
	}

	@Test
	@DisplayName("Missing replicas for grants are found, and so is a missing right to wait for replicas")
	void replicasForGrants() {
		RedisServer server = this.redis.startServer();
		RedisConnectionFactory factory = this.redis.connectionFactory(server.host(), server.port());
		assertFinding(examineWaiting(factory)).contains("not acquired", "has 0 replicas",
				"holdfast.redis.min-replicas is 1");
		startReplica(server);
		assertThat(examineWaiting(factory)).isEmpty();
		setUser(server, NARROW);
		assertFinding(examineWaiting(this.redis.connectionFactory(user(server))))
			.endsWith("allow it the commands wait, or set holdfast.redis.min-replicas to 0");
		setUser(server, with("+wait"));
		assertThat(examineWaiting(this.redis.connectionFactory(user(server)))).isEmpty();
	}

	private List<StoreDiagnostic> examineWaiting(RedisConnectionFactory factory) {
		RedisStoreOptions options = new RedisStoreOptions("lock:", "semaphore:", "holdfast:wake:", null,
				Duration.ofHours(24), Duration.ofSeconds(5), false, "holdfast:fleet", null,
				new Replicas(1, Duration.ofSeconds(1)));
		RedisLeaseStore store = new RedisLeaseStore(factory, options);
		this.redis.closeAtEnd(store::close);
		return store.examine().orTimeout(30, TimeUnit.SECONDS).join();
	}

	@Test
	@DisplayName("Replicas that the application has configured and that are not there are found")
	void configuredReplicas() {
		RedisServer master = this.redis.startServer();
		RedisStaticMasterReplicaConfiguration configuration = new RedisStaticMasterReplicaConfiguration(master.host(),
				master.port());
		assertFinding(examine(this.redis.connectionFactory(configuration))).contains("has no replica",
				"although replicas are configured");
		RedisServer replica = startReplica(master);
		configuration.addNode(replica.host(), replica.port());
		assertThat(examine(this.redis.connectionFactory(configuration))).isEmpty();
	}

	@Test
	@DisplayName("A master that Sentinel watches, and that has no replica, is found")
	void sentinel() {
		RedisServer master = this.redis.startServer();
		RedisServer sentinel = this.redis.startServer("--sentinel");
		RedisSentinelConfiguration configuration = new RedisSentinelConfiguration().master("main")
			.sentinel(sentinel.host(), sentinel.port());
		observer(sentinel).execute((RedisCallback<@Nullable Object>) (connection) -> connection.execute("SENTINEL",
				Stream.of("MONITOR", "main", master.host(), "" + master.port(), "1")
					.map(String::getBytes)
					.toArray(byte[][]::new)));
		assertFinding(examine(this.redis.connectionFactory(configuration))).contains("has no replica",
				"although Sentinel is configured");
	}

	@Test
	@DisplayName("F35 Several commands that the user lacks are named together")
	void commands() {
		RedisServer server = this.redis.startServer();
		assertThat(examineAs(server, NARROW)).isEmpty();
		assertThat(examineAs(server, with("-evalsha"))).isNotEmpty()
			.allSatisfy((finding) -> assertThat(finding.text()).contains("'evalsha'"));
		assertFinding(examineAs(server, with("-hset", "-zadd"))).contains("allow it the commands zadd hset");
	}

	private static String[] with(String... rights) {
		return Stream.concat(Stream.of(NARROW), Stream.of(rights)).toArray(String[]::new);
	}

	@Test
	@DisplayName("F35 Each right that only watching needs is named as such")
	void watching() {
		RedisServer server = this.redis.startServer();
		// Before Redis 7.0 a script cannot check a right without trying the command.
		boolean asks = Boolean.TRUE.equals(observer(server)
			.execute(RedisScript.of("return redis.acl_check_cmd ~= nil", Boolean.class), List.of()));
		for (String command : WATCH.stream().filter((each) -> asks || !each.equals("rpush")).toList()) {
			assertThat(examineAs(server, with("-" + command))).as(command).singleElement().satisfies((finding) -> {
				assertThat(finding.certain()).isTrue();
				assertThat(finding.text()).contains("locks and semaphores work without")
					.endsWith("allow it the commands " + command);
			});
		}
		assertFinding(examineAs(server, with("resetkeys", "~lock:*", "~{lock:*", "~semaphore:*", "~{semaphore:*")))
			.contains("locks and semaphores work without", "'holdfast:fleet*'");
		assertThat(observer(server).keys("*")).isEmpty();
	}

	@Test
	@DisplayName("F35 The rights of the fail-over grace are checked only where the grace is on")
	void failOverGrace() {
		RedisServer server = this.redis.startServer();
		RedisStoreOptions options = TestOptions.defaults();
		RedisStoreOptions grace = new RedisStoreOptions(options.lockPrefix(), options.semaphorePrefix(),
				options.channelPrefix(), null, options.fenceRetention(), options.handoffTimeout(), false, "other",
				Duration.ofSeconds(30), null);
		setUser(server, with("-info", "~other", "~other:report*"));
		List<StoreDiagnostic> findings = examine(
				new RedisLeaseStore(this.redis.connectionFactory(user(server)), grace));
		assertThat(findings).filteredOn(StoreDiagnostic::certain)
			.extracting(StoreDiagnostic::text)
			.anySatisfy((text) -> assertThat(text).contains("that locks or semaphores need", "info"))
			.anySatisfy((text) -> assertThat(text).contains("other:server"));
		setUser(server, with("~other*"));
		assertThat(examine(new RedisLeaseStore(this.redis.connectionFactory(user(server)), grace))).isEmpty();
	}

	@ParameterizedTest
	@ValueSource(strings = { "pexpireat", "time", "hgetall" })
	@DisplayName("A command that is unknown to the server is named, for each wording of the error")
	void unknownCommand(String command) {
		RedisServer server = this.redis.startServer("--rename-command", command, "not-" + command);
		assertFinding(examine(server)).endsWith("allow it the commands " + command);
	}

	@Test
	@DisplayName("A property that the user may not read is reported as unknown")
	void unknown() {
		RedisServer server = this.redis.startServer();
		assertThat(examineAs(server, with("-info"))).singleElement().satisfies((finding) -> {
			assertThat(finding.certain()).isFalse();
			assertThat(finding.text()).contains("allow it the command info", "maxmemory-policy");
		});
	}

	@Test
	@DisplayName("A Redis that is down is a temporary failure")
	void unreachable() {
		RedisServer server = this.redis.startServer();
		RedisLeaseStore store = store(this.redis.connectionFactory(server.host(), server.port()));
		this.redis.closeAtEnd(store::close);
		server.kill();
		assertThatException().isThrownBy(() -> store.examine().join())
			.havingCause()
			.isInstanceOfSatisfying(StoreCommandException.class,
					(failure) -> assertThat(failure.isTemporary()).isTrue());
	}

}
