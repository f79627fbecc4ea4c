package io.holdfast.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import io.holdfast.Lease;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Permits over drivers that give each command a connection of its own, and so keep no
 * order among them.
 */
@WithRedis
class PoolDriverTests {

	private static final String KEY = "driver";

	private static final String ASK_SELDOM = "holdfast.wake-up.handoff-timeout=60s";

	private final Fleet fleet;

	PoolDriverTests(TestRedis redis) {
		this.fleet = Fleet.on(redis);
	}

	@AfterEach
	void close() {
		this.fleet.close();
	}

	private static PoolRequest request(Pool pool) {
		return new PoolRequest(pool, KEY).waitTime(Duration.ofMinutes(2)).leaseTime(Duration.ofMinutes(5));
	}

	static Stream<Arguments> drivers() {
		return Stream.of(Driver.values())
			.flatMap((driver) -> Stream.of(Pool.values()).map((pool) -> Arguments.of(pool, driver)));
	}

	enum Driver {

		JEDIS, LETTUCE_UNSHARED;

		Instance start(Fleet fleet, String... properties) {
			Instance instance = switch (this) {
				case JEDIS ->
					fleet.start(Stream.concat(Stream.of("spring.data.redis.client-type=jedis"), Stream.of(properties))
						.toArray(String[]::new));
				case LETTUCE_UNSHARED -> fleet.start(UnsharedApplication.class, properties);
			};
			RedisConnectionFactory factory = instance.context().getBean(RedisConnectionFactory.class);
			assertThat((this == JEDIS) ? factory instanceof JedisConnectionFactory
					: factory instanceof LettuceConnectionFactory lettuce && !lettuce.getShareNativeConnection())
				.as("driver")
				.isTrue();
			return instance;
		}

	}

	@ParameterizedTest(
			name = "{1}: permits are granted up to the limit, and handed over by wake-ups, also to and from shared Lettuce ({0})")
	@MethodSource("drivers")
	void handOff(Pool pool, Driver driver) {
		Instance instance = driver.start(this.fleet, ASK_SELDOM);
		Instance other = driver.start(this.fleet, ASK_SELDOM);
		Instance shared = this.fleet.start(ASK_SELDOM);
		this.fleet.awaitListening(3);
		List<Instance> turns = List.of(instance, other, shared, instance);
		for (int i = 0; i < turns.size() - 1; i++) {
			Lease first = request(pool).acquire(turns.get(i));
			Lease second = request(pool).acquire(turns.get(i));
			CompletableFuture<Lease> waiting = request(pool).all().acquireInBackground(turns.get(i + 1));
			pool.awaitQueued(this.fleet, KEY, 1);
			assertThat(first.release()).isEqualTo(ReleaseResult.RELEASED);
			assertThat(waiting).isNotDone();
			assertThat(second.release()).isEqualTo(ReleaseResult.RELEASED);
			assertThat(waiting).succeedsWithin(SOON)
				.satisfies((next) -> assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED));
		}
		pool.assertAllFree(this.fleet, KEY, instance, other, shared);
	}

	@ParameterizedTest(
			name = "{1}: waits that are cancelled at any moment leave nothing, and the others have their turns ({0})")
	@MethodSource("drivers")
	void cancel(Pool pool, Driver driver) {
		// So that what is released a second time, after a claim, is so soon.
		Instance instance = driver.start(this.fleet, "holdfast.wake-up.handoff-timeout=1s");
		Instance other = driver.start(this.fleet, "holdfast.wake-up.handoff-timeout=1s");
		PoolRequest request = request(pool);
		for (int i = 0; i < 100; i++) {
			List<CompletableFuture<? extends Lease>> asked = new ArrayList<>();
			asked.add(request.all().acquireAsync(instance));
			asked.add(request.acquireAsync(other));
			asked.add(request.acquireAsync(instance));
			asked.get(i % 3).cancel(false);
			if (i % 2 == 0) {
				Thread.yield();
				asked.get((i + 1) % 3).cancel(false);
			}
			// All at once, as whichever is first holds up the others.
			CompletableFuture<?>[] turns = asked.stream()
				.filter((each) -> !each.isCancelled())
				.map((each) -> each.thenAccept(Lease::close))
				.toArray(CompletableFuture[]::new);
			assertThat(CompletableFuture.allOf(turns)).as("turns in round %s", i).succeedsWithin(SOON);
		}
		this.fleet.awaitNothingLeft();
		pool.assertAllFree(this.fleet, KEY, instance, other);
	}

	@ParameterizedTest(name = "F16 {1}: hundreds of interrupts while acquiring, and nothing held or queued ({0})")
	@MethodSource("drivers")
	void interruptedAcquire(Pool pool, Driver driver) {
		Instance instance = driver.start(this.fleet, "holdfast.wake-up.handoff-timeout=1s");
		Instance other = driver.start(this.fleet, "holdfast.wake-up.handoff-timeout=1s");
		PoolRequest request = request(pool);
		InterruptStorm.run(List.of(() -> request.acquire(instance), () -> request.all().acquire(instance),
				() -> request.all().acquire(other)), 200);
		this.fleet.awaitNothingLeft();
		pool.assertAllFree(this.fleet, KEY, instance, other);
	}

	/** Has Lettuce open a connection for each command. */
	@Configuration(proxyBeanMethods = false)
	@Import(TestApplication.class)
	static class UnsharedApplication {

		@Bean
		static BeanPostProcessor unshared() {
			return new BeanPostProcessor() {
				@Override
				public Object postProcessBeforeInitialization(Object bean, String name) {
					if (bean instanceof LettuceConnectionFactory factory) {
						factory.setShareNativeConnection(false);
					}
					return bean;
				}
			};
		}

	}

}
