package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.Lease;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.FreePorts;
import io.holdfast.testing.RedisCluster;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Connections are closed and refused for a while. Redis keeps its data.
 */
class OutageTests extends ProxiedTestCase {

	private static final String KEY = "outage";

	private static final LockRequest REQUEST = LockRequest.of(KEY).waitTime(SOON);

	private static PoolRequest request(Pool pool) {
		return new PoolRequest(pool, KEY).waitTime(SOON);
	}

	@Slow
	@ParameterizedTest(
			name = "F10 Redis is down at the start: the application starts, requests of any wait time fail after the outage patience, and work when Redis is up ({0})")
	@EnumSource
	void nothingListens(Pool pool) {
		this.proxy.down();
		Instance instance = this.fleet.start(this.proxy, "holdfast.redis.outage-patience=1s");
		PoolRequest request = request(pool);
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> request.acquire(instance))
			.withMessageContaining(KEY)
			.withMessageContaining("cannot be reached (see spring.data.redis.*): ")
			.withMessageNotContaining("fleet")
			.satisfies((ex) -> assertThat(ex.getKey()).isEqualTo(KEY));
		assertStoreTroubleWithin(KEY, Duration.ZERO, () -> request.tryAcquire(instance));
		assertStoreTroubleWithin(KEY, Duration.ofSeconds(1), () -> request.tryAcquireInTime(instance));
		assertStoreTroubleWithin(KEY, Duration.ofSeconds(1), () -> request.all().acquire(instance));
		this.proxy.up();
		pool.assertAllFree(this.fleet, KEY, instance);
		// It receives hand-offs without polling.
		this.fleet.awaitListening(1);
	}

	@Slow
	@Test
	@DisplayName("F10 A load balancer accepts connections without a Redis behind it: a request fails after the outage"
			+ " patience, and the reason is reported")
	void accepted() {
		Instance instance = this.fleet.start(this.proxy, "holdfast.redis.outage-patience=2s",
				"holdfast.redis.command-timeout=1s");
		instance.acquire(REQUEST).close();
		instance.awaitListening();
		this.proxy.redirect(this.proxy.host(), FreePorts.next());
		this.proxy.down();
		this.proxy.up();
		assertStoreTroubleWithin(KEY, Duration.ofSeconds(2),
				() -> instance.acquire(REQUEST.waitTime(SOON.multipliedBy(6))));
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> instance.tryAcquire(KEY))
			.withMessageContaining("cannot be reached");
		await("the reason").atMost(SOON).until(() -> instance.engine().status().trouble() != null);
	}

	@Test
	@DisplayName("The command of a call that failed in an outage is not sent after the outage")
	void commandsOfFailedCalls() {
		Instance instance = this.fleet.start(this.proxy, "holdfast.redis.command-timeout=500ms");
		LockLease held = instance.acquire("held");
		this.proxy.down();
		await("the loss of the connection").atMost(SOON)
			.untilAsserted(() -> assertStoreTroubleWithin(KEY, SOON, () -> instance.locks().status(KEY)));
		assertStoreTroubleWithin(KEY, SOON, () -> instance.semaphores().admin().setLimit(KEY, 3));
		assertStoreTroubleWithin("held", SOON, () -> held.extend(Duration.ofHours(1)));
		this.proxy.up();
		// Behind the earlier commands.
		instance.acquire(REQUEST).close();
		assertThat(instance.semaphores().status(KEY).limitSet()).isFalse();
		assertThat(this.fleet.timeToLive("held")).isLessThan(Duration.ofMinutes(1));
		held.close();
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("A call shorter than the outage patience names the lost connection and the refusal of a new one")
	void refusedConnection() {
		Instance instance = this.fleet.start(this.proxy);
		instance.acquire(REQUEST).close();
		this.fleet.awaitListening(1);
		this.proxy.down();
		assertLostConnection(() -> instance.acquire(REQUEST.waitTime(HALF_A_SECOND)), " did not answer, as ");
		await("the refusal").atMost(SOON).until(() -> instance.engine().status().trouble() != null);
		assertLostConnection(() -> instance.acquire(REQUEST.waitTime(HALF_A_SECOND)), "Connection refused");
		assertLostConnection(() -> instance.locks().status(KEY), "Connection refused");
	}

	@Slow
	@Test
	@DisplayName("In a cluster, a call without an answer names the refusal of the other connection")
	void refusedConnectionInCluster() {
		RedisCluster cluster = this.redis.startCluster(1);
		Instance instance = Fleet.on(this.redis, cluster).start();
		instance.acquire(REQUEST).close();
		instance.awaitListening();
		cluster.nodes().get(0).kill();
		assertRefusedNotifications(instance);
	}

	private static void assertRefusedNotifications(Instance instance) {
		await("the refusal").atMost(SOON).until(() -> instance.engine().status().trouble() != null);
		for (ThrowingCallable call : List.<ThrowingCallable>of(() -> instance.acquire(REQUEST.waitTime(HALF_A_SECOND)),
				() -> instance.locks().status(KEY))) {
			assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(call)
				.withMessageContaining("the store (Redis) did not answer")
				.withMessageContaining("; notifications are not received either: ")
				.withMessageContaining("Connection refused");
		}
	}

	private static void assertLostConnection(ThrowingCallable call, String detail) {
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(call)
			.withMessageContaining("the store (Redis) did not answer")
			.withMessageContaining(", as the connection to it is lost")
			.withMessageContaining(detail);
	}

	@ParameterizedTest(name = "F11 An outage shorter than the lease is not noticed ({0})")
	@EnumSource
	void shortOutage(Pool pool) {
		Instance instance = this.fleet.start(this.proxy);
		Duration leaseTime = Duration.ofSeconds(4);
		Lease lease = request(pool).leaseTime(leaseTime).acquire(instance);
		AtomicInteger losses = new AtomicInteger();
		lease.onLost(losses::incrementAndGet);
		CompletableFuture<Lease> waiting = request(pool).all().acquireInBackground(this.fleet.start());
		pool.awaitQueued(this.fleet, KEY, 1);
		lease.extend(leaseTime);
		this.proxy.down();
		await("a time without renewals").atMost(SOON)
			.until(() -> pool.leaseLeft(this.fleet, KEY).compareTo(leaseTime.minusMillis(1500)) < 0);
		this.proxy.up();
		await("a renewal").atMost(SOON)
			.until(() -> pool.leaseLeft(this.fleet, KEY).compareTo(leaseTime.minusMillis(500)) > 0);
		assertThat(lease.isHeld()).isTrue();
		assertThat(losses).hasValue(0);
		assertThat(waiting).isNotDone();
		assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(waiting).succeedsWithin(SOON).satisfies(Lease::release);
		this.fleet.awaitNothingLeft();
	}

	@ParameterizedTest(
			name = "F12 An outage longer than the lease: the holder sees the loss before the next grant ({0})")
	@EnumSource
	void longOutage(Pool pool) {
		Instance instance = this.fleet.start(this.proxy);
		Instance other = this.fleet.start();
		Lease lease = request(pool).leaseTime(Duration.ofSeconds(1)).acquire(instance);
		List<Lease> rest = request(pool).acquireRest(other);
		AtomicInteger losses = new AtomicInteger();
		lease.onLost(losses::incrementAndGet);
		CompletableFuture<Lease> waiting = Instance.inBackground(() -> {
			Lease next = request(pool).all().acquire(other);
			assertThat(lease.isHeld()).as("held by the old holder after the next grant").isFalse();
			return next;
		});
		pool.awaitQueued(this.fleet, KEY, 1);
		this.proxy.down();
		rest.forEach((one) -> assertThat(one.release()).isEqualTo(ReleaseResult.RELEASED));
		assertThat(waiting).succeedsWithin(SOON).satisfies((next) -> {
			await("one call of the action").atMost(SOON).until(() -> losses.get() == 1);
			this.proxy.up();
			await("release of the lost lease").atMost(SOON).until(() -> isReleasedAsLost(lease));
			assertThat(next.isHeld()).isTrue();
			assertThat(request(pool).tryAcquire(other)).isEmpty();
			next.extend(Duration.ofMinutes(2));
			assertThat(next.release()).isEqualTo(ReleaseResult.RELEASED);
		});
		pool.assertAllFree(this.fleet, KEY, instance, other);
	}

	private static boolean isReleasedAsLost(Lease lease) {
		try {
			return lease.release() != ReleaseResult.RELEASED;
		}
		catch (LeaseStoreException ex) {
			return false;
		}
	}

	@ParameterizedTest(
			name = "F13 The release fails: it is repeated when Redis is back, long before the lease ends ({0})")
	@EnumSource
	void releaseIsRepeated(Pool pool) {
		Instance instance = this.fleet.start(this.proxy, "holdfast.redis.command-timeout=500ms");
		request(pool).warmUp(instance);
		Instance other = this.fleet.start();
		Lease lease = request(pool).leaseTime(Duration.ofMinutes(5)).acquire(instance);
		CompletableFuture<Lease> waiting = request(pool).all().acquireInBackground(other);
		pool.awaitQueued(this.fleet, KEY, 1);
		this.proxy.down();
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(lease::release)
			.withMessageContaining("at the latest");
		assertThat(lease.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);
		assertThat(waiting).isNotDone();
		this.proxy.up();
		assertThat(waiting).succeedsWithin(SOON).satisfies(Lease::release);
		pool.assertAllFree(this.fleet, KEY, other);
	}

	@Slow
	@Test
	@DisplayName("F11 After an outage of some seconds, hand-offs come by wake-ups again")
	void wakeUpsAfterAnOutage() {
		Instance instance = this.fleet.start(this.proxy, "holdfast.wake-up.handoff-timeout=60s");
		Instance other = this.fleet.start("holdfast.wake-up.handoff-timeout=60s");
		this.fleet.awaitListening(2);
		this.proxy.down();
		await("an outage of some seconds").during(Duration.ofSeconds(3))
			.atMost(SOON)
			.until(() -> this.fleet.channels() <= 1);
		this.proxy.up();
		this.fleet.awaitListening(2);
		LockLease held = other.acquire(REQUEST.leaseTime(Duration.ofMinutes(5)));
		CompletableFuture<LockLease> waiting = instance
			.acquireInBackground(REQUEST.waitForever().leaseTime(Duration.ofMinutes(5)));
		this.fleet.awaitQueued(KEY);
		assertThat(held.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(waiting).succeedsWithin(SOON).satisfies(LockLease::release);
		this.fleet.awaitNothingLeft();
	}

	@Slow
	@Test
	@DisplayName("After an outage of many seconds the first call works within two seconds")
	void firstCallAfterwards(TestRedis redis) {
		RedisServer server = redis.startServer();
		try (Fleet restarted = Fleet.on(redis, server)) {
			Instance instance = restarted.start("holdfast.redis.command-timeout=2s");
			instance.warmUp();
			restarted.unobserved(() -> {
				server.kill();
				// Lettuce's own pauses would be 8 s and more by then.
				await("an outage").during(Duration.ofSeconds(12))
					.atMost(SOON.multipliedBy(2))
					.until(() -> isRefused(instance));
				server.restart();
			});
			long back = System.nanoTime();
			instance.acquire(REQUEST).close();
			assertThat(Duration.ofNanos(System.nanoTime() - back)).isLessThan(Duration.ofSeconds(2));
		}
	}

	private static boolean isRefused(Instance instance) {
		try {
			return instance.tryAcquire(KEY).isEmpty();
		}
		catch (LeaseStoreException ex) {
			return true;
		}
	}

}
