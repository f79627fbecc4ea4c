package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import io.holdfast.Lease;
import io.holdfast.LeaseStoreException;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.testing.Slow;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Redis is silent or not reached while permits are asked for or held. It keeps its data
 * in that time.
 */
class PoolOutageTests extends ProxiedTestCase {

	private static final String KEY = "outage";

	private static PoolRequest request(Pool pool) {
		return new PoolRequest(pool, KEY).waitTime(SOON);
	}

	private Instance startAndWarmUp(Pool pool) {
		Instance instance = this.fleet.start(this.proxy, "holdfast.redis.command-timeout=500ms");
		request(pool).warmUp(instance);
		return instance;
	}

	@Slow
	@ParameterizedTest(
			name = "F9 Redis falls silent: who asks is told so when its wait is over, or its command timed out ({0})")
	@EnumSource
	void asksSilentRedis(Pool pool) {
		Instance instance = startAndWarmUp(pool);
		PoolRequest request = request(pool);
		this.proxy.blackHole();
		PoolRequest brief = request.waitTime(HALF_A_SECOND);
		assertStoreTroubleWithin(KEY, HALF_A_SECOND, () -> request.tryAcquire(instance));
		assertStoreTroubleWithin(KEY, HALF_A_SECOND, () -> brief.tryAcquireInTime(instance));
		assertStoreTroubleWithin(KEY, HALF_A_SECOND, () -> brief.acquire(instance));
		// Behind one who has as much as may contend, and no answer either.
		CompletableFuture<? extends Lease> first = request.all().waitTime(SOON.multipliedBy(2)).acquireAsync(instance);
		assertStoreTroubleWithin(KEY, HALF_A_SECOND, () -> brief.all().tryAcquireInTime(instance));
		assertThat(first).isNotDone();
		first.cancel(false);
		assertStoreTroubleWithin(KEY, HALF_A_SECOND, () -> request.status(instance));
		this.proxy.pass();
		await("a lease on the same instance").atMost(SOON).ignoreExceptions().until(() -> {
			request.acquire(instance).close();
			return true;
		});
		pool.assertAllFree(this.fleet, KEY, instance, this.fleet.start());
	}

	@Slow
	@ParameterizedTest(
			name = "F9 Redis falls silent: renew and release end with the command timeout, and are made up for ({0})")
	@EnumSource
	void releasesToSilentRedis(Pool pool) {
		Instance instance = startAndWarmUp(pool);
		Lease lease = request(pool).acquire(instance);
		Lease second = request(pool).acquire(instance);
		this.proxy.blackHole();
		assertStoreTroubleWithin(KEY, HALF_A_SECOND, () -> lease.extend(Duration.ofMinutes(5)));
		assertThat(lease.isHeld()).isTrue();
		assertStoreTroubleWithin(KEY, HALF_A_SECOND, lease::release);
		assertThat(lease.isHeld()).isFalse();
		long start = System.nanoTime();
		second.close();
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(HALF_A_SECOND.plus(SLACK));
		assertThat(pool.holders(this.fleet, KEY)).isEqualTo(2);
		this.proxy.pass();
		pool.assertAllFree(this.fleet, KEY, this.fleet.start());
	}

	@ParameterizedTest(
			name = "F9 Redis is silent for a while: a waiter with time left has its turn when it answers again ({0})")
	@EnumSource
	void waiterSurvivesSilence(Pool pool) {
		Instance instance = startAndWarmUp(pool);
		Instance other = this.fleet.start();
		Lease held = request(pool).acquire(other);
		CompletableFuture<Lease> waiting = request(pool).all()
			.waitTime(Duration.ofSeconds(30))
			.acquireInBackground(instance);
		pool.awaitQueued(this.fleet, KEY, 1);
		// Then it has its own answer, too: without one, the trouble would end its wait.
		request(pool).status(instance);
		this.proxy.blackHole();
		held.release();
		await("some silence").during(Duration.ofMillis(300)).atMost(SOON).until(() -> !waiting.isDone());
		this.proxy.pass();
		assertThat(waiting).succeedsWithin(SOON).satisfies(Lease::release);
		pool.assertAllFree(this.fleet, KEY, other);
	}

	@Slow
	@ParameterizedTest(
			name = "F10 nothing listens: the store''s trouble after the outage patience, whatever the wait, and it works when Redis is there ({0})")
	@EnumSource
	void nothingListens(Pool pool) {
		this.proxy.down();
		Instance instance = this.fleet.start(this.proxy, "holdfast.redis.outage-patience=1s");
		PoolRequest request = request(pool);
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> request.acquire(instance))
			.withMessageContaining(KEY)
			.withMessageContaining("cannot be reached");
		assertStoreTroubleWithin(KEY, Duration.ZERO, () -> request.tryAcquire(instance));
		assertStoreTroubleWithin(KEY, Duration.ofSeconds(1), () -> request.tryAcquireInTime(instance));
		assertStoreTroubleWithin(KEY, Duration.ofSeconds(1), () -> request.all().acquire(instance));
		this.proxy.up();
		pool.assertAllFree(this.fleet, KEY, instance);
	}

	@Slow
	@ParameterizedTest(name = "F11 an outage shorter than the lease is not noticed ({0})")
	@EnumSource
	void shortOutage(Pool pool) {
		Instance instance = this.fleet.start(this.proxy);
		Instance other = this.fleet.start();
		Duration leaseTime = Duration.ofSeconds(4);
		Lease lease = request(pool).leaseTime(leaseTime).acquire(instance);
		AtomicInteger losses = new AtomicInteger();
		lease.onLost(losses::incrementAndGet);
		CompletableFuture<Lease> waiting = request(pool).all().acquireInBackground(other);
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
		pool.assertAllFree(this.fleet, KEY, instance, other);
	}

	@Slow
	@ParameterizedTest(
			name = "F12 an outage longer than the lease: lost for its holder before anyone else has it ({0})")
	@EnumSource
	void longOutage(Pool pool) {
		Instance instance = this.fleet.start(this.proxy);
		Instance other = this.fleet.start();
		Lease lease = request(pool).leaseTime(Duration.ofSeconds(1)).acquire(instance);
		Lease neighbour = request(pool).acquire(other);
		AtomicInteger losses = new AtomicInteger();
		lease.onLost(losses::incrementAndGet);
		CompletableFuture<Lease> waiting = Instance.inBackground(() -> {
			Lease next = request(pool).all().acquire(other);
			assertThat(lease.isHeld()).as("held by the old holder when the next one has all").isFalse();
			return next;
		});
		pool.awaitQueued(this.fleet, KEY, 1);
		this.proxy.down();
		assertThat(neighbour.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(waiting).succeedsWithin(SOON).satisfies((next) -> {
			await("loss told once").atMost(SOON).until(() -> losses.get() == 1);
			this.proxy.up();
			await("release of the lost lease").atMost(SOON).until(() -> isReleasedAsLost(lease));
			assertThat(next.isHeld()).isTrue();
			assertThat(request(pool).tryAcquire(other)).isEmpty();
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
			name = "F13 the release fails: it is repeated when Redis is back, long before the lease ends ({0})")
	@EnumSource
	void releaseIsRepeated(Pool pool) {
		Instance instance = startAndWarmUp(pool);
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

	@ParameterizedTest(name = "F9 F10 no answer by a semaphore, however it is asked, is taken for one ({0})")
	@ValueSource(strings = { "silent", "down" })
	void semaphoreWithoutRedis(String trouble) {
		Instance instance = startAndWarmUp(Pool.SEMAPHORE);
		if (trouble.equals("down")) {
			this.proxy.down();
		}
		else {
			this.proxy.blackHole();
		}
		SemaphoreService semaphores = instance.semaphores();
		SemaphoreRequest request = SemaphoreRequest.of(KEY, PoolRequest.LIMIT);
		// At the same time, as each takes as long as it may.
		Stream<ThrowingCallable> calls = Stream.of(() -> semaphores.tryAcquire(request),
				() -> semaphores.tryAcquire(request.permits(2).waitTime(HALF_A_SECOND)), () -> semaphores.status(KEY),
				() -> semaphores.admin().setLimit(KEY, 9), () -> semaphores.admin().clearLimit(KEY));
		List<CompletableFuture<Boolean>> told = calls.map((call) -> Instance.inBackground(() -> {
			assertStoreTroubleWithin(KEY, HALF_A_SECOND, call);
			return true;
		})).toList();
		told.forEach((call) -> assertThat(call).succeedsWithin(SOON));
		this.proxy.pass();
		this.proxy.up();
		await("an answer, after what may have been sent late").atMost(SOON).ignoreExceptions().until(() -> {
			semaphores.admin().clearLimit(KEY);
			return true;
		});
		Pool.SEMAPHORE.assertAllFree(this.fleet, KEY, this.fleet.start());
	}

}
