package io.holdfast.redis;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;

import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestRedis;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.SlotHash;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.awaitility.Awaitility.await;

/**
 * A Redis cluster: one node with all slots is enough to show that no script reaches over
 * two of them. Thread-safe.
 */
final class OneNodeCluster implements AutoCloseable {

	private final RedisServer node;

	private final List<LettuceConnectionFactory> opened = new CopyOnWriteArrayList<>();

	private @Nullable StringRedisTemplate template;

	private int tests;

	/**
	 * Start a cluster; its node stops at the end of the test, or class, that it is for.
	 * Takes some seconds.
	 * @param redis of the test or class
	 */
	OneNodeCluster(TestRedis redis) {
		this.node = redis.startServer("--cluster-enabled", "yes");
		RedisClient client = RedisClient.create("redis://" + this.node.host() + ":" + this.node.port());
		try (StatefulRedisConnection<String, String> connection = client.connect()) {
			connection.sync().clusterAddSlots(IntStream.range(0, SlotHash.SLOT_COUNT).toArray());
			await().until(() -> connection.sync().clusterInfo().contains("cluster_state:ok"));
		}
		finally {
			client.shutdown();
		}
	}

	RedisClusterConfiguration configuration() {
		return new RedisClusterConfiguration(List.of(this.node.host() + ":" + this.node.port()));
	}

	LettuceConnectionFactory connectionFactory() {
		LettuceConnectionFactory factory = new LettuceConnectionFactory(configuration(),
				TestRedis.clientConfiguration());
		this.opened.add(factory);
		factory.afterPropertiesSet();
		factory.start();
		return factory;
	}

	/**
	 * The stores of one further test.
	 * @return what opens them
	 */
	synchronized TestStores stores() {
		if (this.template == null) {
			this.template = new StringRedisTemplate(connectionFactory());
		}
		return new TestStores("test" + ++this.tests + ":", this.template, this::connectionFactory);
	}

	/**
	 * Close all connections.
	 */
	@Override
	public void close() {
		this.opened.forEach(LettuceConnectionFactory::destroy);
	}

}
