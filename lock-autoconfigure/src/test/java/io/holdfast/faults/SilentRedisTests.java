package io.holdfast.faults;

import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.function.Function;

import io.holdfast.Lease;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreAdmin;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.Semaphore;
import io.holdfast.autoconfigure.LeaseEngineFactory;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestApplication;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.data.redis.connection.RedisConnectionFactory;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Connections are open or accepted, and no command is answered. Every call keeps its
 * deadline, and no failure names another owner.
 */
@ExtendWith(OutputCaptureExtension.class)
class SilentRedisTests extends ProxiedTestCase {

	private static final String KEY = "silent";

	private static final LockRequest REQUEST = LockRequest.of(KEY);

	private static PoolRequest request(Pool pool) {
		return new PoolRequest(pool, KEY).waitTime(SOON);
	}

	private Instance startAndWarmUp(Pool pool) {
		Instance instance = this.fleet.start(this.proxy, "holdfast.redis.command-timeout=500ms");
		request(pool).warmUp(instance);
		return instance;
	}

	@ParameterizedTest(
			name = "F9 Redis falls silent: a request fails when its wait is over, or its command timed out ({0})")
	@EnumSource
	void requests(Pool pool) {
		Instance instance = startAndWarmUp(pool);
		PoolRequest request = request(pool);
		this.proxy.blackHole();
		PoolRequest brief = request.waitTime(HALF_A_SECOND);
		assertStoreTroubleWithin(KEY, HALF_A_SECOND, () -> request.tryAcquire(instance));
		assertStoreTroubleWithin(KEY, HALF_A_SECOND, () -> brief.tryAcquireInTime(instance));
		assertStoreTroubleWithin(KEY, HALF_A_SECOND, () -> brief.acquire(instance));
		// Behind another request without an answer.
		CompletableFuture<? extends Lease> first = request.all().waitTime(SOON.multipliedBy(2)).acquireAsync(instance);
		assertStoreTroubleWithin(KEY, HALF_A_SECOND, () -> brief.all().tryAcquireInTime(instance));
		assertThat(first).isNotDone();
		first.cancel(false);
		assertStoreTroubleWithin(KEY, HALF_A_SECOND, () -> request.status(instance));
		if (pool == Pool.SEMAPHORE) {
			SemaphoreAdmin admin = instance.semaphores().admin();
			assertStoreTroubleWithin(KEY, HALF_A_SECOND, () -> admin.setLimit(KEY, 9));
			assertStoreTroubleWithin(KEY, HALF_A_SECOND, () -> admin.clearLimit(KEY));
		}
		this.proxy.pass();
		await("a lease on the same instance").atMost(SOON).ignoreExceptions().until(() -> {
			request.acquire(instance).close();
			return true;
		});
		pool.assertAllFree(this.fleet, KEY, instance, this.fleet.start());
	}

	@Slow
	@Test
	@DisplayName("F9 Redis has been silent since before the first connection: deadlines are kept all the same")
	void firstConnection() {
		this.proxy.blackHole();
		Instance instance = this.fleet.start(this.proxy, "holdfast.redis.command-timeout=500ms");
		assertStoreTroubleWithin(KEY, HALF_A_SECOND,
				() -> instance.locks().tryAcquire(REQUEST.waitTime(HALF_A_SECOND)));
		assertStoreTroubleWithin(KEY, HALF_A_SECOND, () -> instance.tryAcquire(KEY));
		this.proxy.pass();
		await("lock on the same instance").atMost(SOON).ignoreExceptions().until(() -> {
			instance.acquire(REQUEST.waitTime(HALF_A_SECOND)).close();
			return true;
		});
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F9 Redis falls silent: close, withLock and calls of methods return without an answer, and the release is repeated later")
	void closeDoesNotWait() {
		Instance instance = this.fleet.start(this.proxy, Shop.class, "holdfast.redis.command-timeout=30s");
		instance.warmUp();
		LockLease lease = instance.acquire(REQUEST);
		AtomicLong start = new AtomicLong();
		instance.locks().withLock("silent-2", () -> instance.context().getBean(Shop.class).runLocked(() -> {
			this.proxy.blackHole();
			start.set(System.nanoTime());
		}));
		lease.close();
		assertThat(Duration.ofNanos(System.nanoTime() - start.get())).isLessThan(SOON);
		assertThat(this.fleet.isLocked(KEY)).isTrue();
		this.proxy.pass();
		this.fleet.awaitNothingLeft();
	}

	@Slow
	@Test
	@DisplayName("F9 Redis is silent from the start: a context waits for a second at its start, and hardly at its end")
	void startsAndCloses(CapturedOutput output) {
		time(() -> this.fleet.start(this.proxy).close());
		long heard = time(() -> this.fleet.start(this.proxy).close());
		this.proxy.blackHole();
		Instance[] silent = new Instance[1];
		long start = time(() -> silent[0] = this.fleet.start(this.proxy, "holdfast.redis.command-timeout=1s"));
		long end = time(() -> silent[0].close());
		assertThat(start - heard).as("start").isLessThan(1000 + SLACK.toMillis());
		assertThat(end).as("end").isLessThan(1000 + SLACK.toMillis());
		assertThat(output).doesNotContain("Not everything could be released");
	}

	@Test
	@DisplayName("F9 Several Redis servers are silent: the start waits once for all of them")
	void severalSilent() {
		time(() -> this.fleet.start(this.proxy, SeveralEngines.class).close());
		long heard = time(() -> this.fleet.start(this.proxy, SeveralEngines.class).close());
		this.proxy.blackHole();
		long start = time(() -> this.fleet.start(this.proxy, SeveralEngines.class));
		assertThat(start - heard).isLessThan(1000 + SLACK.toMillis());
	}

	private static long time(Runnable action) {
		long start = System.nanoTime();
		action.run();
		return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
	}

	@Test
	@DisplayName("F9 Redis falls silent: the context closes all the same, and logs no stack trace")
	void contextCloses(CapturedOutput output) {
		Instance instance = startAndWarmUp(Pool.LOCK);
		instance.acquire(REQUEST.leaseTime(Duration.ofSeconds(1)));
		LockLease released = instance.acquire("released");
		this.proxy.blackHole();
		released.close();
		long start = System.nanoTime();
		instance.close();
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(20));
		assertThat(output).doesNotContain("\tat io.holdfast.");
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("F9 Redis falls silent: a call with permits ends with the wait for its lock, and waits for no release")
	void permitsBeforeLock(Sale sale) {
		Instance instance = this.fleet.start(this.proxy, Shop.class, "holdfast.redis.command-timeout=20s");
		instance.warmUp();
		Instance other = this.fleet.start();
		LockLease lock = other.acquire("lock");
		CompletableFuture<String> sold = Instance
			.inBackground(() -> sale.call.apply(instance.context().getBean(Shop.class)));
		this.fleet.awaitQueued("lock");
		assertThat(other.semaphores().status("permits").used()).isOne();
		this.proxy.blackHole();
		// The wait of 1.5 s, without a command timeout.
		await().atMost(Duration.ofSeconds(10)).until(sold::isDone);
		assertThat(sold).isCompletedExceptionally();
		this.proxy.pass();
		lock.close();
		this.fleet.awaitNothingLeft();
	}

	@ParameterizedTest
	@ValueSource(strings = { "holdfast.wake-up.mode=polling", "holdfast.redis.min-replicas=1",
			"spring.data.redis.client-type=jedis", "spring.data.redis.cluster.nodes=%s",
			"spring.data.redis.sentinel.nodes=%s;spring.data.redis.sentinel.master=master" })
	@DisplayName("F9 Redis is silent before the first connection: an asynchronous request does not wait")
	void beforeStart(String properties) {
		this.proxy.blackHole();
		Instance instance = this.fleet.start(this.proxy, EarlyAsker.class,
				("holdfast.redis.command-timeout=500ms;" + properties)
					.formatted(this.proxy.host() + ":" + this.proxy.port())
					.split(";"));
		assertThat(instance.context().getBean(EarlyAsker.class).waits).isZero();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("F9 Redis falls silent: a call whose result depends on the releases of its permits and its lock waits"
			+ " for a single answer")
	void carefulCall(Sale sale) {
		Instance instance = this.fleet.start(this.proxy, Shop.class, "holdfast.redis.command-timeout=4s");
		instance.warmUp();
		Shop shop = instance.context().getBean(Shop.class);
		assertThat(sale.carefulCall.apply(shop, () -> {
		})).isEqualTo("sold");
		long took = time(() -> assertThat(sale.carefulCall.apply(shop, this.proxy::blackHole)).isEqualTo("sold"));
		assertThat(took).isBetween(3900L, 7500L);
		this.proxy.pass();
		this.fleet.awaitNothingLeft();
	}

	enum Sale {

		PLAIN(Shop::sell, Shop::sellCarefully),

		STAGE((shop) -> shop.sellLater().join(), (shop, body) -> shop.sellCarefullyLater(body).join()),

		MONO((shop) -> shop.sellSoon().block(), (shop, body) -> shop.sellCarefullySoon(body).block());

		private final Function<Shop, @Nullable String> call;

		private final BiFunction<Shop, Runnable, @Nullable String> carefulCall;

		Sale(Function<Shop, @Nullable String> call, BiFunction<Shop, Runnable, @Nullable String> carefulCall) {
			this.call = call;
			this.carefulCall = carefulCall;
		}

	}

	static class Shop {

		@DistributedLock(name = "silent-3")
		void runLocked(Runnable body) {
			body.run();
		}

		@Semaphore(name = "permits", limit = 1, waitTime = "1500ms")
		@DistributedLock(name = "lock", waitTime = "1500ms")
		String sell() {
			return "sold";
		}

		@Semaphore(name = "permits", limit = 1, waitTime = "1500ms")
		@DistributedLock(name = "lock", waitTime = "1500ms")
		CompletableFuture<String> sellLater() {
			return CompletableFuture.completedFuture("sold");
		}

		@Semaphore(name = "permits", limit = 1, waitTime = "1500ms")
		@DistributedLock(name = "lock", waitTime = "1500ms")
		Mono<String> sellSoon() {
			return Mono.just("sold");
		}

		@Semaphore(name = "permits", limit = 1, onLoss = OnLoss.THROW)
		@DistributedLock(name = "lock", onLoss = OnLoss.THROW)
		String sellCarefully(Runnable body) {
			body.run();
			return "sold";
		}

		@Semaphore(name = "permits", limit = 1, onLoss = OnLoss.THROW)
		@DistributedLock(name = "lock", onLoss = OnLoss.THROW)
		CompletableFuture<String> sellCarefullyLater(Runnable body) {
			body.run();
			return CompletableFuture.completedFuture("sold");
		}

		@Semaphore(name = "permits", limit = 1, onLoss = OnLoss.THROW)
		@DistributedLock(name = "lock", onLoss = OnLoss.THROW)
		Mono<String> sellCarefullySoon(Runnable body) {
			return Mono.fromSupplier(() -> {
				body.run();
				return "sold";
			});
		}

	}

	/** Requests a lock before the lifecycle of its application begins. */
	static class EarlyAsker {

		final long waits;

		EarlyAsker(LockService locks) {
			long before = waits();
			locks.acquireAsync(REQUEST.waitTime(HALF_A_SECOND));
			this.waits = waits() - before;
		}

		/** Return the number of waits of this thread. */
		private static long waits() {
			return ManagementFactory.getThreadMXBean().getThreadInfo(Thread.currentThread().getId()).getWaitedCount();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import(TestApplication.class)
	static class SeveralEngines {

		@Bean(defaultCandidate = false)
		LeaseEngine first(LeaseEngineFactory engines, RedisConnectionFactory redis) {
			return engines.create(redis);
		}

		@Bean(defaultCandidate = false)
		LeaseEngine second(LeaseEngineFactory engines, RedisConnectionFactory redis) {
			return engines.create(redis);
		}

		@Bean(defaultCandidate = false)
		LeaseEngine third(LeaseEngineFactory engines, RedisConnectionFactory redis) {
			return engines.create(redis);
		}

		@Bean(defaultCandidate = false)
		LeaseEngine fourth(LeaseEngineFactory engines, RedisConnectionFactory redis) {
			return engines.create(redis);
		}

	}

}
