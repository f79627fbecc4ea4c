package io.holdfast.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;

import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.testing.TestRedis;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.OutputCaptureExtension;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Permits are released twice, too late, or by another owner: the number of permits never
 * grows. This API has no release by another token; the store's contract tests that.
 */
@ExtendWith(OutputCaptureExtension.class)
class PermitReleaseTests extends FaultTestCase {

	private static final String KEY = "release";

	private static final int LIMIT = 3;

	private static final SemaphoreRequest ONE = SemaphoreRequest.of(KEY, LIMIT);

	private static final Duration BRIEF = Duration.ofMillis(300);

	private SemaphoreService semaphores;

	private SemaphoreService others;

	@BeforeEach
	void start() {
		this.semaphores = this.fleet.start().semaphores();
		this.others = this.fleet.start().semaphores();
	}

	/**
	 * Check the number of free permits, fewer than all: exactly so many can be acquired.
	 */
	private void assertFree(int free) {
		assertThat(LIMIT - this.semaphores.status(KEY).used()).as("free by status").isEqualTo(free);
		if (free > 0) {
			try (PermitLease all = this.others.acquire(ONE.permits(free))) {
				assertThat(all.isHeld()).isTrue();
				assertThat(this.semaphores.tryAcquire(ONE)).as("a further permit").isEmpty();
			}
		}
		assertThat(this.others.tryAcquire(ONE.permits(free + 1))).as("more than free").isEmpty();
	}

	@Test
	@DisplayName("F43 A lease is closed twice, released twice, and released twice asynchronously: the permits come"
			+ " back once")
	void repeated() {
		PermitLease staying = this.others.acquire(ONE);
		PermitLease closed = this.semaphores.acquire(ONE);
		closed.close();
		closed.close();
		assertFree(2);
		PermitLease released = this.semaphores.acquire(ONE);
		assertThat(released.release()).isEqualTo(ReleaseResult.RELEASED);
		assertThat(released.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);
		assertFree(2);
		PermitLease async = this.semaphores.acquire(ONE.permits(2));
		CompletableFuture<ReleaseResult> first = async.releaseAsync();
		CompletableFuture<ReleaseResult> second = async.releaseAsync();
		assertThat(first).succeedsWithin(SOON).isEqualTo(ReleaseResult.RELEASED);
		assertThat(second).succeedsWithin(SOON).isEqualTo(ReleaseResult.ALREADY_RELEASED);
		assertFree(2);
		assertThat(staying.release()).isEqualTo(ReleaseResult.RELEASED);
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F43 Several threads release twice or late: the limit is never exceeded")
	void mixedByMany() {
		AtomicInteger used = new AtomicInteger();
		AtomicInteger most = new AtomicInteger();
		IntConsumer count = (change) -> {
			int now = used.addAndGet(change);
			most.accumulateAndGet(now, Math::max);
			assertThat(now).isBetween(0, LIMIT);
		};
		List<CompletableFuture<Boolean>> users = new ArrayList<>();
		for (SemaphoreService one : List.of(this.semaphores, this.others, this.semaphores, this.others)) {
			Random random = new Random();
			users.add(Instance.inBackground(() -> {
				for (int i = 0; i < 40; i++) {
					use(one, random.nextInt(4), 1 + random.nextInt(2), count);
				}
				return true;
			}));
		}
		users.forEach((user) -> assertThat(user).succeedsWithin(SOON.multipliedBy(3)));
		assertThat(most).as("used at once, at most").hasValueGreaterThan(1);
		assertThat(used).hasValue(0);
		this.fleet.awaitNothingLeft();
	}

	private static void use(SemaphoreService semaphores, int way, int permits, IntConsumer count) {
		SemaphoreRequest request = ONE.permits(permits).waitTime(SOON);
		switch (way) {
			case 0 -> {
				PermitLease lease = semaphores.acquire(request.leaseTime(Duration.ofMillis(100)).autoRenew(false));
				// Not counted, since only the store knows the exact end.
				await().pollInterval(Duration.ofMillis(5)).until(() -> !lease.isHeld());
				assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
			}
			case 1 -> {
				PermitLease lease = semaphores.acquire(request);
				count.accept(permits);
				Thread.yield();
				count.accept(-permits);
				CompletableFuture<ReleaseResult> first = lease.releaseAsync();
				assertThat(lease.release()).isEqualTo(ReleaseResult.ALREADY_RELEASED);
				assertThat(first).succeedsWithin(SOON).isEqualTo(ReleaseResult.RELEASED);
			}
			default -> {
				PermitLease lease = semaphores.acquire(request);
				count.accept(permits);
				count.accept(-permits);
				lease.close();
				lease.close();
			}
		}
	}

	@Test
	@DisplayName("Thousands of holders are released by force with a few commands")
	void manyByForce(TestRedis redis) {
		int holders = 2500;
		try (Fleet own = Fleet.on(redis, redis.startServer())) {
			Instance instance = own.start();
			SemaphoreRequest request = SemaphoreRequest.of(KEY, holders)
				.autoRenew(false)
				.leaseTime(Duration.ofMinutes(5));
			List<CompletableFuture<PermitLease>> leases = acquire(instance, request, holders);
			CompletableFuture.allOf(leases.toArray(CompletableFuture[]::new)).join();
			Instance operator = own.start();
			operator.semaphores().status("warm-up");
			long before = own.scripts();
			assertThat(operator.semaphores().admin().forceRelease(KEY)).isTrue();
			// Some belong to instances that are present, or listen.
			assertThat(own.scripts() - before).isLessThan(15);
			assertThat(operator.semaphores().status(KEY).used()).isZero();
		}
	}

	@Test
	@DisplayName("A forced release of more than a thousand holders does not end the leases that it grants")
	void letInByForce(TestRedis redis) {
		int holders = 1100;
		try (Fleet own = Fleet.on(redis, redis.startServer())) {
			SemaphoreRequest request = SemaphoreRequest.of(KEY, holders).waitTime(Duration.ofMinutes(1));
			List<CompletableFuture<PermitLease>> former = acquire(own.start(), request, holders);
			CompletableFuture.allOf(former.toArray(CompletableFuture[]::new)).join();
			List<CompletableFuture<PermitLease>> waiting = acquire(own.start(), request, holders);
			SemaphoreService operator = own.start().semaphores();
			await().atMost(SOON).until(() -> operator.status(KEY).waiting() == 200);
			assertThat(operator.admin().forceRelease(KEY)).isTrue();
			assertThat(CompletableFuture.allOf(waiting.toArray(CompletableFuture[]::new))).succeedsWithin(SOON);
			assertThat(waiting).allMatch((lease) -> lease.join().isHeld());
			assertThat(operator.status(KEY).used()).isEqualTo(holders);
		}
	}

	private static List<CompletableFuture<PermitLease>> acquire(Instance instance, SemaphoreRequest request,
			int count) {
		return IntStream.range(0, count).mapToObj((i) -> instance.semaphores().acquireAsync(request)).toList();
	}

}
