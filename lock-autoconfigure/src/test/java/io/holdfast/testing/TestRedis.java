package io.holdfast.testing;

import java.security.SecureRandom;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;

import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.Cursor;
import org.springframework.data.redis.core.ScanOptions;
import org.springframework.data.redis.core.StringRedisTemplate;

/**
 * Redis of a test: a part of the shared Redis, defined by the prefix of its keys, and
 * separate servers. At the end of the test, the connections are closed, the servers are
 * stopped, and the keys are deleted. Not thread-safe.
 */
public final class TestRedis implements AutoCloseable {

	/** Resources of the driver. Their threads are daemons, and end with the JVM. */
	static final ClientResources RESOURCES = DefaultClientResources.create();

	private static final SecureRandom random = new SecureRandom();

	private final SharedRedis shared;

	private final String keyPrefix;

	/** Users of Redis, which are closed before any server stops. */
	private final Deque<Runnable> users = new ArrayDeque<>();

	private final Deque<Runnable> cleanUp = new ArrayDeque<>();

	TestRedis(SharedRedis shared) {
		this.shared = shared;
		byte[] unique = new byte[4];
		random.nextBytes(unique);
		this.keyPrefix = "t" + HexFormat.of().formatHex(unique) + ":";
		this.cleanUp.push(this::deleteKeys);
	}

	/**
	 * Open a Redis for a part of a test that must leave nothing to the next part.
	 * @return the Redis, which the caller has to close
	 */
	public static TestRedis open() {
		return new TestRedis(SharedRedis.get());
	}

	/** Return the host of the shared Redis. */
	public String host() {
		return this.shared.host();
	}

	/** Return the port of the shared Redis. */
	public int port() {
		return this.shared.port();
	}

	/**
	 * Return the text that the keys of this test contain, preferably at the beginning.
	 * Keys with this text are deleted at the end of the test.
	 * @return a prefix that no other test has, for example {@code t7f3a09bc:}
	 */
	public String keyPrefix() {
		return this.keyPrefix;
	}

	/**
	 * Connect to the shared Redis like another application.
	 * @return a new, started factory, which is closed at the end of the test
	 */
	public LettuceConnectionFactory connectionFactory() {
		return connectionFactory(host(), port());
	}

	/**
	 * Connect to a server, or through a proxy, like another application.
	 * @param host the host
	 * @param port the port
	 * @return a new, started factory, which is closed at the end of the test
	 */
	public LettuceConnectionFactory connectionFactory(String host, int port) {
		return connectionFactory(new RedisStandaloneConfiguration(host, port));
	}

	/**
	 * Connect to servers like another application.
	 * @param configuration the servers
	 * @return a new, started factory, which is closed at the end of the test
	 */
	public LettuceConnectionFactory connectionFactory(RedisConfiguration configuration) {
		LettuceConnectionFactory factory = new LettuceConnectionFactory(configuration, clientConfiguration());
		this.cleanUp.push(factory::destroy);
		factory.afterPropertiesSet();
		factory.start();
		return factory;
	}

	/**
	 * Return a configuration of connections that share threads among all tests: the end
	 * of separate threads takes as long as many a test.
	 */
	public static LettuceClientConfiguration clientConfiguration() {
		return LettuceClientConfiguration.builder().clientResources(RESOURCES).build();
	}

	/**
	 * Return a template for checks and changes of the shared Redis, separate from the
	 * tested connections.
	 */
	public StringRedisTemplate template() {
		return this.shared.template();
	}

	/**
	 * Start a separate server, which can be killed, frozen or configured; see
	 * {@link RedisServer#start(String...)}. Blocks until the server answers.
	 * @param extraConfig the options of the command line
	 * @return the running server, which is stopped at the end of the test
	 */
	public RedisServer startServer(String... extraConfig) {
		RedisServer server = RedisServer.start(extraConfig);
		this.cleanUp.push(server::close);
		return server;
	}

	/**
	 * Start a separate master with replicas and a sentinel. Blocks until all know each
	 * other.
	 * @param replicas the number of replicas
	 * @param config the options of the command line of each server, but not of the
	 * sentinel
	 * @return the running servers, which are stopped at the end of the test
	 */
	public SentinelRedis startSentinel(int replicas, String... config) {
		return new SentinelRedis(this, replicas, config);
	}

	/**
	 * Start a separate cluster. Blocks until all nodes know each other.
	 * @param size the number of nodes, all masters
	 * @return the running servers, which are stopped at the end of the test
	 */
	public RedisCluster startCluster(int size) {
		return new RedisCluster(this, size);
	}

	/**
	 * Close a user of these servers at the end of the test, while the servers still run.
	 * If called in {@code @BeforeAll}, at the end of all tests of the class.
	 * @param user the action that closes the user. A repetition must have no effect
	 */
	public void closeAtEnd(Runnable user) {
		this.users.push(user);
	}

	/**
	 * Close the users of Redis and the connections, stop the servers, and delete the
	 * keys.
	 * @throws IllegalStateException if a step failed, after all steps were tried
	 */
	@Override
	public void close() {
		IllegalStateException failure = new IllegalStateException("The test's Redis was not cleaned up");
		Stream.concat(this.users.stream(), this.cleanUp.stream()).forEach((step) -> {
			try {
				step.run();
			}
			catch (RuntimeException | AssertionError ex) {
				failure.addSuppressed(ex);
			}
		});
		if (failure.getSuppressed().length > 0) {
			throw failure;
		}
	}

	private void deleteKeys() {
		// Anywhere in the key, because companions begin with a brace.
		ScanOptions mine = ScanOptions.scanOptions().match("*" + this.keyPrefix + "*").count(1000).build();
		List<String> keys = new ArrayList<>();
		try (Cursor<String> cursor = template().scan(mine)) {
			cursor.forEachRemaining(keys::add);
		}
		if (!keys.isEmpty()) {
			template().unlink(keys);
		}
	}

}
