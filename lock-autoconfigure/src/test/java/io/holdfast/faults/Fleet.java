package io.holdfast.faults;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

import io.holdfast.testing.FaultProxy;
import io.holdfast.testing.RedisCluster;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.SentinelRedis;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.lettuce.core.KillArgs;
import io.lettuce.core.api.async.RedisServerAsyncCommands;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Applications of a test, all in this JVM and each its own instance, the proxies before
 * Redis, and an observer with a direct connection. Closed at the test's end at the
 * latest. Takes keys as in requests, and properties as {@code name=value}. Not
 * thread-safe.
 */
final class Fleet implements AutoCloseable {

	/** For events that are due soon, on a busy machine, too. */
	static final Duration SOON = Duration.ofSeconds(10);

	private static final RedisScript<Long> CHANNELS = RedisScript
		.of("return #redis.call('PUBSUB', 'CHANNELS', ARGV[1])", Long.class);

	private final TestRedis redis;

	private final String host;

	private final int port;

	private final StringRedisTemplate observer;

	private final Deque<Runnable> opened = new ArrayDeque<>();

	/** Of each instance. */
	private final List<String> properties;

	private Fleet(TestRedis redis, String host, int port, StringRedisTemplate observer, List<String> properties) {
		this.redis = redis;
		this.host = host;
		this.port = port;
		this.observer = observer;
		this.properties = properties;
		redis.closeAtEnd(this::close);
	}

	/** Create a fleet on the shared Redis. */
	static Fleet on(TestRedis redis) {
		return new Fleet(redis, redis.host(), redis.port(), redis.template(), List.of());
	}

	/** Create a fleet on the test's own server. */
	static Fleet on(TestRedis redis, RedisServer server) {
		return new Fleet(redis, server.host(), server.port(),
				new StringRedisTemplate(redis.connectionFactory(server.host(), server.port())), List.of());
	}

	/**
	 * Create a fleet on a Redis with changing masters. The observer follows the present
	 * master.
	 */
	static Fleet on(TestRedis redis, SentinelRedis servers) {
		LettuceConnectionFactory direct = new LettuceConnectionFactory(servers.configuration(),
				TestRedis.clientConfiguration());
		direct.setShareNativeConnection(false);
		return on(redis, direct, servers.properties());
	}

	/** On a cluster. */
	static Fleet on(TestRedis redis, RedisCluster cluster) {
		return on(redis, new LettuceConnectionFactory(cluster.configuration(), TestRedis.clientConfiguration()),
				cluster.properties());
	}

	private static Fleet on(TestRedis redis, LettuceConnectionFactory direct, List<String> properties) {
		direct.afterPropertiesSet();
		direct.start();
		Fleet fleet = new Fleet(redis, "not-used.invalid", 1, new StringRedisTemplate(direct), properties);
		fleet.opened.push(direct::destroy);
		return fleet;
	}

	/** Put a proxy before Redis, for instances that are started with the proxy. */
	FaultProxy proxy() {
		FaultProxy proxy = FaultProxy.to(this.host, this.port);
		this.opened.push(proxy::close);
		return proxy;
	}

	/** Start an instance. */
	Instance start(String... properties) {
		return start(this.host, this.port, TestApplication.class, properties);
	}

	/** Start an instance with a proxy before Redis. */
	Instance start(FaultProxy proxy, String... properties) {
		return start(proxy, TestApplication.class, properties);
	}

	/**
	 * Start an instance of an application with its own configuration, and with a proxy
	 * before Redis.
	 */
	Instance start(FaultProxy proxy, Class<?> application, String... properties) {
		return start(proxy.host(), proxy.port(), application, properties);
	}

	/** Start an instance of an application with its own configuration. */
	Instance start(Class<?> application, String... properties) {
		return start(this.host, this.port, application, properties);
	}

	private Instance start(String redisHost, int redisPort, Class<?> application, String... properties) {
		List<String> all = new ArrayList<>();
		// Keeps a busy machine from counting as a silent Redis.
		all.add("holdfast.redis.command-timeout=5s");
		all.addAll(this.properties);
		all.addAll(List.of(properties));
		Instance instance = new Instance(
				TestApplication.start(application, redisHost, redisPort, this.redis.keyPrefix(), all));
		this.opened.push(instance::close);
		return instance;
	}

	/** Return the template to read and change Redis past all faults. */
	StringRedisTemplate observer() {
		return this.observer;
	}

	/**
	 * Run an action that kills the observer's server. A command on such a connection
	 * would stay there until its timeout.
	 * @param action the action, during which there is no observer
	 */
	void unobserved(Runnable action) {
		LettuceConnectionFactory factory = (LettuceConnectionFactory) Objects
			.requireNonNull(this.observer.getConnectionFactory());
		factory.stop();
		try {
			action.run();
		}
		finally {
			factory.start();
		}
	}

	/** Return the name of a lock in Redis. */
	String lockKey(String key) {
		return this.redis.keyPrefix() + key;
	}

	/** Return the base of the names of a semaphore's keys in Redis. */
	String semaphoreKey(String key) {
		return TestApplication.semaphorePrefix(this.redis.keyPrefix()) + key;
	}

	/** Return the prefix of the wake-up channels. */
	String channelPrefix() {
		return TestApplication.channelPrefix(this.redis.keyPrefix());
	}

	/** Return whether the lock has an owner in Redis. */
	boolean isLocked(String key) {
		return Boolean.TRUE.equals(this.observer.hasKey(lockKey(key)));
	}

	/** Return the remaining life of the lock in Redis. */
	Duration timeToLive(String key) {
		return Duration.ofMillis(this.observer.getExpire(lockKey(key), TimeUnit.MILLISECONDS));
	}

	/** Return the number of queued instances in Redis. */
	long queued(String key) {
		Long size = this.observer.opsForZSet().zCard(queueKey(key));
		return (size != null) ? size : 0;
	}

	/**
	 * Return the last fence in Redis.
	 * @param key the key of the request
	 * @return the fence, or 0
	 */
	long fence(String key) {
		String fence = this.observer.opsForValue().get("{" + lockKey(key) + "}:fence");
		// Behind the fence there may be a second number.
		return (fence != null) ? Long.parseLong(fence.split(" ")[0]) : 0;
	}

	/** Wait until the given number of instances receives wake-ups. */
	void awaitListening(int count) {
		await(count + " subscriptions").atMost(SOON).until(() -> channels() == count);
	}

	/** Return the number of wake-up channels with a subscriber. */
	int channels() {
		Long count = this.observer.execute(CHANNELS, List.of(), channelPrefix() + "*");
		return (count != null) ? count.intValue() : 0;
	}

	/**
	 * Kill all connections for wake-ups, also of other fleets: only for a server of the
	 * test's own.
	 */
	void killSubscriptions() {
		RedisCallback<Object> kill = (connection) -> ((RedisServerAsyncCommands<?, ?>) connection.getNativeConnection())
			.clientKill(KillArgs.Builder.typePubsub())
			.toCompletableFuture()
			.join();
		assertThat(this.observer.execute(kill)).as("killed subscriptions").isNotEqualTo(0L);
	}

	/**
	 * Change the server itself: only for a server of the test's own.
	 * @param command the command, for a connection of the observer
	 */
	void onServer(Consumer<RedisConnection> command) {
		this.observer.execute((RedisCallback<@Nullable Void>) (connection) -> {
			command.accept(connection);
			return null;
		});
	}

	/** Change the user {@code app}: only for a server of the test's own. */
	void setUser(String... rules) {
		byte[][] words = Stream.concat(Stream.of("SETUSER", "app"), Stream.of(rules))
			.map(String::getBytes)
			.toArray(byte[][]::new);
		onServer((connection) -> connection.execute("ACL", words));
	}

	/**
	 * Return the number of clients of the server.
	 * @return the number, including this fleet's observer
	 */
	int connections() {
		Properties clients = this.observer
			.execute((RedisCallback<Properties>) (connection) -> connection.serverCommands().info("clients"));
		return Integer.parseInt(clients.getProperty("connected_clients"));
	}

	/**
	 * Return the name of a key of a semaphore.
	 * @param key the key of the request
	 * @param part {@code holders}, {@code queue}, {@code state} or {@code limit}
	 * @return the key in Redis
	 */
	String semaphoreKey(String key, String part) {
		return "{" + semaphoreKey(key) + "}:" + part;
	}

	/** Return the name of the queue of a lock. */
	String queueKey(String key) {
		return "{" + lockKey(key) + "}:queue";
	}

	/** Wait until a waiter stands in the queue in Redis. */
	void awaitQueued(String key) {
		await("a waiter in the queue of " + key).atMost(SOON).until(() -> queued(key) == 1);
	}

	/**
	 * Wait until the test has no keys in Redis but fences and instances.
	 */
	void awaitNothingLeft() {
		awaitNothingLeft(SOON);
	}

	/**
	 * Wait until the test has no keys in Redis but fences and instances.
	 * @param most the longest wait: where releases may have been lost, until the leases
	 * have ended
	 */
	void awaitNothingLeft(Duration most) {
		await("only fences left in Redis").atMost(most).until(this::keysBesidesFences, List::isEmpty);
	}

	/**
	 * Return the test's present keys in Redis, except for fences, notes of a waiter's
	 * silence and instances.
	 */
	List<String> keysBesidesFences() {
		Set<String> keys = this.observer.keys("*" + this.redis.keyPrefix() + "*");
		String instances = TestApplication.fleetKey(this.redis.keyPrefix());
		return keys.stream()
			.filter((key) -> !key.endsWith(":fence") && !key.endsWith(":seen") && !key.equals(instances))
			.toList();
	}

	@Override
	public void close() {
		while (!this.opened.isEmpty()) {
			this.opened.pop().run();
		}
	}

}
