package io.holdfast.optimistic;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import io.holdfast.OptimisticTransactionException;
import io.holdfast.optimistic.OptimisticTransactions.Options;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisClientConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

@WithRedis
class JedisOptimisticTransactionTests extends OptimisticTransactionContract {

	private final List<JedisConnectionFactory> factories = new ArrayList<>();

	JedisOptimisticTransactionTests(TestRedis redis) {
		super(redis);
	}

	@Override
	RedisConnectionFactory connect(String host, int port) {
		return start(new JedisConnectionFactory(new RedisStandaloneConfiguration(host, port)));
	}

	private JedisConnectionFactory start(JedisConnectionFactory connections) {
		this.factories.add(connections);
		customize(connections);
		connections.afterPropertiesSet();
		connections.start();
		return connections;
	}

	@Override
	RedisConnectionFactory connect(GenericObjectPoolConfig<?> pool) {
		return start(new JedisConnectionFactory(new RedisStandaloneConfiguration(this.redis.host(), this.redis.port()),
				JedisClientConfiguration.builder().usePooling().poolConfig(pool).build()));
	}

	void customize(JedisConnectionFactory connections) {
	}

	@Test
	@DisplayName("Between attempts, a transaction holds no connection of the pool")
	void pausesWithoutConnection() {
		OptimisticTransactions through = new OptimisticTransactions(connect(poolOfOne()));
		AtomicInteger attempts = new AtomicInteger();
		Thread pausing = new Thread(() -> assertThatExceptionOfType(OptimisticTransactionException.class)
			.isThrownBy(() -> through.with(new Options(2, Duration.ofHours(1), Duration.ofMinutes(10)))
				.execute(List.of(this.a), (tx) -> {
					attempts.incrementAndGet();
					change(this.a);
					tx.write(set(this.a, "lost"));
					return null;
				})));
		pausing.start();
		await("a pause").atMost(SOON)
			.until(() -> attempts.get() == 1
					&& Stream.of(pausing.getStackTrace()).anyMatch((frame) -> frame.getMethodName().equals("sleep")));
		increment(through, this.b);
		assertThat(this.values.get(this.b)).isEqualTo("1");
		pausing.interrupt();
		await("the end").atMost(SOON).until(() -> !pausing.isAlive());
	}

	@Override
	RedisConnectionFactory cluster(RedisClusterConfiguration configuration) {
		return new JedisConnectionFactory(configuration);
	}

	@AfterEach
	void closeFactories() {
		this.factories.forEach(JedisConnectionFactory::destroy);
	}

}
