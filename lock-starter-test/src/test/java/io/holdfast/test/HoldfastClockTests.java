package io.holdfast.test;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.autoconfigure.HoldfastAutoConfiguration;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.memory.MemoryLeases;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link HoldfastClock}.
 */
class HoldfastClockTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class, HoldfastTestAutoConfiguration.class))
		.withPropertyValues("holdfast.backend=memory", "spring.lifecycle.timeout-per-shutdown-phase=10ms");

	private static HoldfastClock clock(AssertableApplicationContext context) {
		return context.getBean(HoldfastClock.class);
	}

	@Test
	@DisplayName("While time passes, renewed leases stay, and others end when they are due")
	void advance() {
		this.runner.run((context) -> {
			LockService locks = context.getBean(LockService.class);
			LockLease renewed = locks.acquire("renewed");
			LockLease brief = locks.acquire(LockRequest.of("brief").leaseTime(Duration.ofMinutes(2)).autoRenew(false));
			LockLease bounded = locks.acquire(LockRequest.of("bounded").maxHold(Duration.ofMinutes(4)));
			clock(context).advance(Duration.ofSeconds(110));
			assertThat(brief.isHeld()).isTrue();
			clock(context).advance(Duration.ofSeconds(10));
			assertThat(brief.isHeld()).isFalse();
			assertThat(locks.status("brief").isLocked()).isFalse();
			clock(context).advance(Duration.ofMinutes(1));
			assertThat(bounded.isHeld()).isTrue();
			clock(context).advance(Duration.ofMinutes(2));
			assertThat(bounded.isHeld()).isFalse();
			clock(context).advance(Duration.ofDays(1));
			assertThat(renewed.isHeld()).isTrue();
			assertThat(renewed.remaining()).isBetween(Duration.ofSeconds(15), Duration.ofSeconds(30));
		});
	}

	@Test
	@DisplayName("A frozen holder loses its lease, and the next waiter gets the lock")
	void freeze() {
		this.runner.run((context) -> {
			LockService locks = context.getBean(LockService.class);
			LockLease lease = locks.acquire("a");
			CompletableFuture<Void> lost = new CompletableFuture<>();
			lease.onLost(() -> lost.complete(null));
			CompletableFuture<LockLease> next = locks.acquireAsync(LockRequest.of("a").waitTime(Duration.ofHours(1)));
			clock(context).freeze(Duration.ofSeconds(31));
			assertThat(lease.isHeld()).isFalse();
			assertThat(lost).succeedsWithin(SOON);
			assertThat(next).succeedsWithin(SOON).satisfies((other) -> {
				assertThat(other.fencingToken()).isGreaterThan(lease.fencingToken());
				other.close();
			});
		});
	}

	@Test
	@DisplayName("Permits with minHold are free when that is over")
	void permits() {
		this.runner.run((context) -> {
			SemaphoreService semaphores = context.getBean(SemaphoreService.class);
			SemaphoreRequest request = SemaphoreRequest.of("calls", 1).minHold(Duration.ofMinutes(1));
			semaphores.acquire(request).close();
			assertThat(context.getBean(MemoryLeases.class).isIdle()).isFalse();
			CompletableFuture<PermitLease> next = semaphores.acquireAsync(request.waitTime(Duration.ofHours(1)));
			clock(context).advance(Duration.ofSeconds(59));
			assertThat(next).isNotDone();
			clock(context).advance(Duration.ofSeconds(1));
			assertThat(next).succeedsWithin(SOON);
		});
	}

	@Test
	@DisplayName("The clock goes on by itself")
	void goesOn() {
		this.runner.run((context) -> {
			LockService locks = context.getBean(LockService.class);
			LockLease lease = locks.acquire("a");
			CompletableFuture<LockLease> next = locks
				.acquireAsync(LockRequest.of("a").waitTime(Duration.ofSeconds(60).plusMillis(100)));
			clock(context).advance(Duration.ofMinutes(1));
			assertThat(next).isNotDone();
			assertThat(next).failsWithin(5, TimeUnit.SECONDS);
			assertThat(lease.isHeld()).isTrue();
		});
	}

	@Test
	@DisplayName("It is not turned back, nor after its context is closed")
	void refuses() {
		HoldfastClock[] clock = new HoldfastClock[1];
		this.runner.run((context) -> {
			clock[0] = clock(context);
			assertThatIllegalArgumentException().isThrownBy(() -> clock[0].advance(Duration.ofSeconds(-1)))
				.withMessageContaining("PT-1S");
			assertThatIllegalArgumentException().isThrownBy(() -> clock[0].freeze(Duration.ofSeconds(-1)));
		});
		assertThatIllegalStateException().isThrownBy(() -> clock[0].advance(Duration.ZERO));
	}

	@Test
	@DisplayName("A context with memory of its own has no clock to turn, and one with Redis neither")
	void backsOff() {
		MemoryLeases shared = new MemoryLeases(System::nanoTime);
		this.runner.withBean(MemoryLeases.class, () -> shared)
			.run((context) -> assertThat(context).doesNotHaveBean(HoldfastClock.class)
				.hasSingleBean(LeaseEngine.class)
				.hasSingleBean(LockService.class));
		this.runner.withPropertyValues("holdfast.backend=redis")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(HoldfastClock.class));
		this.runner.withPropertyValues("holdfast.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(HoldfastClock.class));
	}

}
