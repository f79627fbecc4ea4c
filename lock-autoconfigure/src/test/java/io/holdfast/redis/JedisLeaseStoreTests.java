package io.holdfast.redis;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import io.holdfast.engine.LeaseStore;
import io.holdfast.engine.LeaseStoreContract;
import io.holdfast.redis.RedisLeaseStore.Options;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The contract of a store in Redis over a driver that blocks.
 */
@WithRedis
class JedisLeaseStoreTests extends LeaseStoreContract {

	private final TestRedis redis;

	private final List<JedisConnectionFactory> factories = new ArrayList<>();

	JedisLeaseStoreTests(TestRedis redis) {
		this.redis = redis;
	}

	@Override
	protected LeaseStore newStore() {
		return newStore(false);
	}

	@Override
	protected LeaseStore newPollingStore() {
		return newStore(true);
	}

	private LeaseStore newStore(boolean polling) {
		JedisConnectionFactory factory = new JedisConnectionFactory(
				new RedisStandaloneConfiguration(this.redis.host(), this.redis.port()));
		this.factories.add(factory);
		factory.afterPropertiesSet();
		factory.start();
		Options options = new Options(this.redis.keyPrefix(), this.redis.keyPrefix() + "semaphore:", channelPrefix(),
				null, Duration.ofSeconds(20), Duration.ofSeconds(5), polling, "fleet");
		return new RedisLeaseStore(new StringRedisTemplate(factory), options);
	}

	private String channelPrefix() {
		return this.redis.keyPrefix() + "wake:";
	}

	@Override
	protected void leave(Instance instance) {
		instance.store.close();
		await().until(() -> Subscribers.count(this.redis.template(), channelPrefix() + instance.id) == 0);
	}

	@AfterEach
	void closeFactories() {
		this.factories.forEach(JedisConnectionFactory::destroy);
	}

	@Override
	protected void elapse(Duration time) {
		await().pollDelay(time).until(() -> true);
	}

	@Override
	protected void putForeign(String key, String value, @Nullable Duration ttl) {
		this.redis.template().opsForValue().set(this.redis.keyPrefix() + key, value);
		if (ttl != null) {
			this.redis.template().expire(this.redis.keyPrefix() + key, ttl);
		}
	}

	@Override
	protected boolean isOrdered() {
		return false;
	}

	@Test
	@DisplayName("F19 a subscription that is killed is opened again")
	void subscribesAgain() {
		int before = this.a.listenings.get();
		Subscribers.kill(this.redis.template());
		await().untilAsserted(() -> {
			assertThat(this.a.listenings.get()).isGreaterThan(before);
			assertThat(this.a.store.isListening()).isTrue();
		});
	}

}
