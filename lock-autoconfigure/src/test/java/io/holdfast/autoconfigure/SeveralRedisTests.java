package io.holdfast.autoconfigure;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Primary;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Servers of the locks and permits of an application with two Redis.
 */
@WithRedis
class SeveralRedisTests extends TwoRedisTestCase {

	SeveralRedisTests(TestRedis redis) {
		super(redis);
	}

	@Test
	@DisplayName("The default services exist beside the others: a key can be locked in both Redis at once")
	void besideTheDefault() {
		ConfigurableApplicationContext context = start(Orders.class);
		assertThat(context.getBeanNamesForType(RedisConnectionFactory.class))
			.containsExactlyInAnyOrder("redisConnectionFactory", "ordersRedis");
		assertThat(context.getBeanNamesForType(LockService.class)).containsExactlyInAnyOrder("holdfastLockService",
				"ordersLocks");
		assertThat(context.getBeanNamesForType(SemaphoreService.class))
			.containsExactlyInAnyOrder("holdfastSemaphoreService", "ordersSemaphores");
		LockLease lease = locks(context).acquire("a");
		assertThat(isLocked(this.first, "a")).isTrue();
		assertThat(isLocked(this.second, "a")).isFalse();
		assertThat(ordersLocks(context).acquireAsync(LockRequest.of("a"))).succeedsWithin(SOON).satisfies((other) -> {
			assertThat(isLocked(this.second, "a")).isTrue();
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
			assertThat(isLocked(this.first, "a")).isFalse();
			assertThat(other.isHeld()).isTrue();
			assertThat(other.release()).isEqualTo(ReleaseResult.RELEASED);
		});
		assertThat(isLocked(this.second, "a")).isFalse();
		PermitLease permit = context.getBean(SemaphoreService.class).acquire(SemaphoreRequest.of("a", 1));
		assertThat(context.getBean("ordersSemaphores", SemaphoreService.class).tryAcquire(SemaphoreRequest.of("a", 1)))
			.hasValueSatisfying(PermitLease::release);
		permit.close();
	}

	@Test
	@DisplayName("Annotated methods use the named service, or else the default service")
	void annotations() {
		Shop shop = start(Annotated.class).getBean(Shop.class);
		shop.ship(() -> {
			assertThat(isLocked(this.second, "shop")).isTrue();
			assertThat(isLocked(this.first, "shop")).isFalse();
			shop.sell(() -> assertThat(isLocked(this.first, "shop")).isTrue());
		});
		await("releases").atMost(SOON).until(() -> !isLocked(this.first, "shop") && !isLocked(this.second, "shop"));
	}

	@Test
	@DisplayName("Of two connection factories the default services use the primary one")
	void primaryConnection() {
		ConfigurableApplicationContext context = start(PrimaryConnection.class);
		locks(context).acquire("a");
		assertThat(isLocked(this.second, "a")).isTrue();
		context.getBean("firstLocks", LockService.class).acquire("b");
		assertThat(isLocked(this.first, "b")).isTrue();
	}

	@Test
	@DisplayName("In memory the same application runs without Redis, and a key can be locked in both services")
	void inMemory() {
		ConfigurableApplicationContext context = start(Orders.class, "holdfast.backend=memory");
		LockLease lease = locks(context).acquire("a");
		assertThat(ordersLocks(context).tryAcquire("a")).hasValueSatisfying((other) -> {
			assertThat(isLocked(this.first, "a")).isFalse();
			assertThat(isLocked(this.second, "a")).isFalse();
			assertThat(other.release()).isEqualTo(ReleaseResult.RELEASED);
		});
		lease.close();
	}

	static class Shop {

		@DistributedLock(name = "shop")
		public void sell(Runnable body) {
			body.run();
		}

		@DistributedLock(name = "shop", service = "ordersLocks")
		@Semaphore(name = "shop", limit = 1, service = "ordersSemaphores")
		public void ship(Runnable body) {
			body.run();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import({ Orders.class, Shop.class })
	static class Annotated {

	}

	@Configuration(proxyBeanMethods = false)
	static class PrimaryConnection {

		@Bean
		LettuceConnectionFactory firstRedis(@Value("${spring.data.redis.host}") String host,
				@Value("${spring.data.redis.port}") int port) {
			return new LettuceConnectionFactory(host, port);
		}

		@Bean
		@Primary
		LettuceConnectionFactory secondRedis(@Value("${orders.redis.host}") String host,
				@Value("${orders.redis.port}") int port) {
			return new LettuceConnectionFactory(host, port);
		}

		@Bean(defaultCandidate = false)
		LeaseEngine firstEngine(LeaseEngineFactory engines, @Qualifier("firstRedis") RedisConnectionFactory redis) {
			return engines.create(redis);
		}

		@Bean(defaultCandidate = false)
		LockService firstLocks(@Qualifier("firstEngine") LeaseEngine engine) {
			return new DefaultLockService(engine);
		}

	}

}
