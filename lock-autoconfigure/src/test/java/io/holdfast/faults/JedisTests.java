package io.holdfast.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.testing.FaultProxy;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Applications that use Jedis, whose Redis is reached by Lettuce all the same.
 */
class JedisTests extends FaultTestCase {

	private static final String KEY = "jedis";

	private static final LockRequest REQUEST = LockRequest.of(KEY).waitForever().leaseTime(Duration.ofMinutes(1));

	private static final String JEDIS = "spring.data.redis.client-type=jedis";

	private static final String ASK_SELDOM = "holdfast.wake-up.handoff-timeout=60s";

	/** Unguarded but for the lock. */
	private int counter;

	private void assertHandOff(Instance from, Instance to) {
		LockLease held = from.acquire(REQUEST);
		CompletableFuture<LockLease> waiting = to.acquireInBackground(REQUEST);
		this.fleet.awaitQueued(KEY);
		assertThat(waiting).isNotDone();
		assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(waiting).succeedsWithin(SOON).satisfies((lease) -> {
			assertThat(lease.fencingToken()).isGreaterThan(held.fencingToken());
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		});
	}

	@Test
	@DisplayName("Jedis: two instances exclude one another")
	void exclusion() {
		Instance instance = this.fleet.start(JEDIS);
		Instance other = this.fleet.start(JEDIS);
		assertThat(instance.context().getBean(RedisConnectionFactory.class)).isInstanceOf(JedisConnectionFactory.class);
		try (LockLease lease = instance.acquire(REQUEST)) {
			assertThat(other.tryAcquire(KEY)).isEmpty();
			assertThat(other.locks().status(KEY).isLocked()).isTrue();
			assertThat(lease.isHeld()).isTrue();
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		}
		assertThat(other.tryAcquire(KEY)).hasValueSatisfying(LockLease::release);
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("Jedis: an unguarded counter under the lock is never wrong")
	void counter() {
		List<CompletableFuture<?>> workers = new ArrayList<>();
		for (int i = 0; i < 2; i++) {
			Instance instance = this.fleet.start(JEDIS);
			for (int j = 0; j < 3; j++) {
				workers.add(Instance.inBackground(() -> count(instance)));
			}
		}
		assertThat(CompletableFuture.allOf(workers.toArray(CompletableFuture[]::new)))
			.succeedsWithin(SOON.multipliedBy(3));
		assertThat(this.counter).isEqualTo(600);
		this.fleet.awaitNothingLeft();
	}

	private int count(Instance instance) {
		return count(instance, REQUEST);
	}

	private int count(Instance instance, LockRequest request) {
		for (int i = 0; i < 100; i++) {
			LockLease lease = instance.acquire(request);
			int before = this.counter;
			Thread.yield();
			this.counter = before + 1;
			assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		}
		return this.counter;
	}

	@Test
	@DisplayName("S9 Jedis: several keys are locked at once, in whatever order they are asked for")
	void severalKeys() {
		List<CompletableFuture<?>> workers = new ArrayList<>();
		for (List<String> keys : List.of(List.of(KEY, "b", "c"), List.of("c", "b", KEY))) {
			Instance instance = this.fleet.start(JEDIS);
			workers.add(Instance.inBackground(() -> count(instance, LockRequest.ofAll(keys).waitTime(SOON))));
			workers.add(Instance.inBackground(() -> count(instance, REQUEST)));
		}
		assertThat(CompletableFuture.allOf(workers.toArray(CompletableFuture[]::new)))
			.succeedsWithin(SOON.multipliedBy(3));
		assertThat(this.counter).isEqualTo(400);
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("Jedis: a job that ends at once keeps others out for its least time")
	void minHold() {
		Instance instance = this.fleet.start(JEDIS);
		Instance other = this.fleet.start(JEDIS);
		Duration minHold = Duration.ofSeconds(2);
		long from = System.nanoTime();
		assertThat(instance.acquire(REQUEST.minHold(minHold)).release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(other.tryAcquire(KEY)).isEmpty();
		other.acquire(REQUEST.waitTime(SOON)).close();
		assertThat(Duration.ofNanos(System.nanoTime() - from)).isBetween(minHold.minusMillis(20), minHold.plus(SOON));
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("Jedis: a hand-off comes by a wake-up, among one another and with Lettuce")
	void handOff() {
		Instance instance = this.fleet.start(JEDIS, ASK_SELDOM);
		Instance other = this.fleet.start(JEDIS, ASK_SELDOM);
		Instance lettuce = this.fleet.start(ASK_SELDOM);
		this.fleet.awaitListening(3);
		assertHandOff(instance, other);
		assertHandOff(other, lettuce);
		assertHandOff(lettuce, instance);
		this.fleet.awaitNothingLeft();
	}

	@Slow
	@Test
	@DisplayName("Jedis: a lease is renewed, expires without renewal, and its release leaves the next owner alone")
	void renewalAndExpiry() {
		Instance instance = this.fleet.start(JEDIS);
		Duration leaseTime = Duration.ofSeconds(1);
		LockLease renewed = instance.acquire(LockRequest.of("renewed").leaseTime(leaseTime));
		LockLease lease = instance.acquire(REQUEST.leaseTime(leaseTime).autoRenew(false));
		try (LockLease next = this.fleet.start(JEDIS).acquire(REQUEST)) {
			assertThat(lease.isHeld()).isFalse();
			assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
			next.extend(Duration.ofMinutes(2));
		}
		await("more than a lease").during(leaseTime).atMost(SOON).until(renewed::isHeld);
		assertThat(renewed.release()).isEqualTo(ReleaseResult.RELEASED);
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F9 F10 Jedis: deadlines are kept, the store's trouble is told, and it works again afterwards")
	void silenceAndOutage() {
		FaultProxy proxy = this.fleet.proxy();
		Instance instance = this.fleet.start(proxy, JEDIS, "holdfast.redis.command-timeout=500ms",
				"spring.data.redis.timeout=2s");
		instance.warmUp();
		proxy.blackHole();
		long start = System.nanoTime();
		assertThatExceptionOfType(LeaseStoreException.class)
			.isThrownBy(() -> instance.locks().tryAcquire(LockRequest.of(KEY).waitTime(Duration.ofMillis(500))));
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofMillis(3500));
		proxy.pass();
		proxy.down();
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> instance.tryAcquire(KEY));
		proxy.up();
		await("a lock on the same instance").atMost(SOON).ignoreExceptions().until(() -> {
			instance.acquire(REQUEST.waitTime(SOON)).close();
			return true;
		});
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("Jedis: the application's connections are used for nothing")
	void connectionsOfTheApplication() {
		Instance instance = this.fleet.start(UnusableApplication.class, ASK_SELDOM);
		Instance other = this.fleet.start(UnusableApplication.class, ASK_SELDOM);
		this.fleet.awaitListening(2);
		assertHandOff(instance, other);
		LeaseEngine engine = instance.context().getBean(LeaseEngine.class);
		assertThat(engine.examine()).succeedsWithin(SOON);
		instance.close();
		other.close();
		this.fleet.awaitNothingLeft();
	}

	static class UnusableApplication extends TestApplication {

		@Bean
		JedisConnectionFactory unusable(@Value("${spring.data.redis.host}") String host,
				@Value("${spring.data.redis.port}") int port) {
			return new JedisConnectionFactory(new RedisStandaloneConfiguration(host, port)) {

				@Override
				public RedisConnection getConnection() {
					throw new AssertionError("used");
				}

			};
		}

	}

}
