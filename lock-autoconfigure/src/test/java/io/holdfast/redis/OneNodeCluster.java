package io.holdfast.redis;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import io.holdfast.testing.RedisCluster;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestRedis;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

/**
 * A Redis cluster of one node with all slots, enough to show that no script uses keys of
 * two slots. Thread-safe.
 */
public final class OneNodeCluster {

	private final RedisCluster cluster;

	private final List<LettuceConnectionFactory> opened = new CopyOnWriteArrayList<>();

	private @Nullable StringRedisTemplate template;

	private int tests;

	/**
	 * Start a cluster; its connections and its node end with the test or class. Takes
	 * some seconds.
	 * @param redis of the test or class
	 */
	public OneNodeCluster(TestRedis redis) {
		this.cluster = redis.startCluster(1);
		redis.closeAtEnd(() -> this.opened.forEach(LettuceConnectionFactory::destroy));
	}

	RedisServer node() {
		return this.cluster.nodes().get(0);
	}

	RedisClusterConfiguration configuration() {
		return this.cluster.configuration();
	}

	public LettuceConnectionFactory connectionFactory() {
		LettuceConnectionFactory factory = new LettuceConnectionFactory(configuration(),
				TestRedis.clientConfiguration());
		this.opened.add(factory);
		factory.afterPropertiesSet();
		factory.start();
		return factory;
	}

	/**
	 * Create the stores of a further test.
	 * @return the stores
	 */
	public synchronized TestStores stores() {
		if (this.template == null) {
			this.template = new StringRedisTemplate(connectionFactory());
		}
		return new TestStores("test" + ++this.tests + ":", this.template, this::connectionFactory);
	}

}
