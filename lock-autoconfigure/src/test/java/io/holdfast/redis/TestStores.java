package io.holdfast.redis;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.SharedStores;
import io.holdfast.redis.key.RedisStoreOptions;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.DisposableBean;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.awaitility.Awaitility.await;

/**
 * Stores with shared data for the contracts: all stores of a test in one Redis.
 */
public final class TestStores implements SharedStores {

	private final String prefix;

	private final StringRedisTemplate redis;

	private final Supplier<? extends RedisConnectionFactory> connections;

	private final List<RedisConnectionFactory> opened = new ArrayList<>();

	private Duration handoffTimeout = Duration.ofSeconds(5);

	/**
	 * Create the stores.
	 * @param prefix start of this test's keys only
	 * @param redis to look at Redis, over Lettuce
	 * @param connections makes the connections of a further instance, closed with this
	 */
	public TestStores(String prefix, StringRedisTemplate redis,
			Supplier<? extends RedisConnectionFactory> connections) {
		this.prefix = prefix;
		this.redis = redis;
		this.connections = connections;
	}

	TestStores handoffTimeout(Duration handoffTimeout) {
		this.handoffTimeout = handoffTimeout;
		return this;
	}

	@Override
	public LeaseStore open(boolean polling) {
		RedisStoreOptions options = new RedisStoreOptions(this.prefix + "lock:", this.prefix + "semaphore:",
				channelPrefix(), null, Duration.ofSeconds(20), this.handoffTimeout, polling, this.prefix + "fleet",
				null, null);
		RedisConnectionFactory factory = this.connections.get();
		this.opened.add(factory);
		return new RedisLeaseStore(factory, options);
	}

	private String channelPrefix() {
		return this.prefix + "wake:";
	}

	@Override
	public void elapse(Duration time) {
		await().pollDelay(time).until(() -> true);
	}

	@Override
	public void putForeign(String key, String value, @Nullable Duration ttl) {
		this.redis.opsForValue().set(this.prefix + "lock:" + key, value);
		if (ttl != null) {
			this.redis.expire(this.prefix + "lock:" + key, ttl);
		}
	}

	@Override
	public void awaitAbsence(String instance) {
		await().until(() -> Subscribers.count(this.redis, channelPrefix() + instance) == 0);
	}

	/** Close the connections of all stores. */
	public void closeConnections() throws Exception {
		for (RedisConnectionFactory factory : this.opened) {
			((DisposableBean) factory).destroy();
		}
	}

}
