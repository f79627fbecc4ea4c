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

import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.Cursor;
import org.springframework.data.redis.core.ScanOptions;
import org.springframework.data.redis.core.StringRedisTemplate;

/**
 * The Redis of one test: a part of the one that all tests share, told by the prefix of
 * its keys, and servers of its own. At the test's end its connections are closed, its
 * servers stopped and its keys deleted. Not thread-safe.
 */
public final class TestRedis implements AutoCloseable {

	/** Its threads are daemons, and end with the JVM. */
	static final ClientResources RESOURCES = DefaultClientResources.create();

	private static final SecureRandom random = new SecureRandom();

	private final SharedRedis shared;

	private final String keyPrefix;

	/** To be closed before any server stops. */
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
	 * For a part of a test that is to leave nothing to the next part.
	 * @return one that its user closes
	 */
	public static TestRedis open() {
		return new TestRedis(SharedRedis.get());
	}

	/** Where the shared Redis listens. */
	public String host() {
		return this.shared.host();
	}

	/** Where the shared Redis listens. */
	public int port() {
		return this.shared.port();
	}

	/**
	 * What the test's keys in the shared Redis are to contain, best at their beginning:
	 * these are deleted at its end.
	 * @return a prefix that no other test has, for example {@code t7f3a09bc:}
	 */
	public String keyPrefix() {
		return this.keyPrefix;
	}

	/**
	 * Connect to the shared Redis as one more application would.
	 * @return a new, started factory that is closed at the test's end
	 */
	public LettuceConnectionFactory connectionFactory() {
		return connectionFactory(host(), port());
	}

	/**
	 * Connect to a server, or through a proxy, as one more application would.
	 * @param host the host
	 * @param port the port
	 * @return a new, started factory that is closed at the test's end
	 */
	public LettuceConnectionFactory connectionFactory(String host, int port) {
		LettuceConnectionFactory factory = new LettuceConnectionFactory(new RedisStandaloneConfiguration(host, port),
				clientConfiguration());
		this.cleanUp.push(factory::destroy);
		factory.afterPropertiesSet();
		factory.start();
		return factory;
	}

	/**
	 * Connections that share the threads of all tests: to end some of their own takes as
	 * long as many a test.
	 */
	public static LettuceClientConfiguration clientConfiguration() {
		return LettuceClientConfiguration.builder().clientResources(RESOURCES).build();
	}

	/**
	 * To look at the shared Redis and to change what it holds, not through the
	 * connections of what is tested.
	 */
	public StringRedisTemplate template() {
		return this.shared.template();
	}

	/**
	 * Start a server of the test's own, to be killed, frozen or configured; see
	 * {@link RedisServer#start(String...)}. Blocks until it answers.
	 * @param extraConfig options of its command line
	 * @return a running server that is stopped at the test's end
	 */
	public RedisServer startServer(String... extraConfig) {
		RedisServer server = RedisServer.start(extraConfig);
		this.cleanUp.push(server::close);
		return server;
	}

	/**
	 * Start a master with replicas and a sentinel of the test's own. Blocks until all
	 * know each other.
	 * @param replicas how many replicas
	 * @param config options of the command line of each, besides the sentinel
	 * @return running servers that are stopped at the test's end
	 */
	public SentinelRedis startSentinel(int replicas, String... config) {
		SentinelRedis started = new SentinelRedis(this, replicas, config);
		this.cleanUp.push(started::close);
		return started;
	}

	/**
	 * Start a cluster of the test's own. Blocks until all its nodes know each other.
	 * @param size how many nodes, each of them a master
	 * @return running servers that are stopped at the test's end
	 */
	public RedisCluster startCluster(int size) {
		RedisCluster started = new RedisCluster(this, size);
		this.cleanUp.push(started::close);
		return started;
	}

	/**
	 * Have something closed at the test's end that uses its servers, while they still
	 * run. Where a class asks for this in {@code @BeforeAll}, that is the end of all its
	 * tests.
	 * @param user closes it, also if it is closed already
	 */
	public void closeAtEnd(Runnable user) {
		this.users.push(user);
	}

	/**
	 * Close what uses Redis, and the connections, stop the servers and delete the keys.
	 * @throws IllegalStateException if any of it failed, after all was tried
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
		// Anywhere in the key, as companions begin with a brace.
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
