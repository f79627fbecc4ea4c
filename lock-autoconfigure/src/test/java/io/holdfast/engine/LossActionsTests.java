package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.IntStream;

import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Losses of many leases at the same time, with slow actions.
 */
class LossActionsTests {

	private static final Duration SOON = Duration.ofSeconds(30);

	private static final int MANY = 500;

	/** Number of threads for actions. */
	private static final int MOST = 64;

	private final LeaseEngine engine = new LeaseEngine(new MemoryLeaseStore(new MemoryLeases(System::nanoTime)),
			EngineSettings.defaults());

	private final DefaultLockService locks = new DefaultLockService(this.engine);

	private final CountDownLatch unblock = new CountDownLatch(1);

	private final AtomicInteger running = new AtomicInteger();

	private final AtomicInteger maximum = new AtomicInteger();

	private final AtomicInteger done = new AtomicInteger();

	@AfterEach
	void close() {
		this.unblock.countDown();
		this.engine.close();
	}

	private void block() {
		int now = this.running.incrementAndGet();
		this.maximum.accumulateAndGet(now, Math::max);
		try {
			this.unblock.await();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		this.running.decrementAndGet();
		this.done.incrementAndGet();
	}

	/** Lose many leases at once. */
	private void loseMany(Consumer<LockLease> with) {
		List<LockLease> leases = IntStream.range(0, MANY)
			.mapToObj((i) -> this.locks.acquire(LockRequest.of("k" + i)))
			.toList();
		leases.forEach(with);
		leases.forEach((lease) -> this.locks.forceRelease(lease.key()));
		await("all are lost").atMost(SOON).until(() -> leases.stream().noneMatch(LockLease::isHeld));
	}

	private void assertOtherRequestsProceed() {
		LockLease lease = this.locks.acquire(LockRequest.of("other").leaseTime(Duration.ofSeconds(1)));
		Duration[] last = { lease.remaining() };
		AtomicInteger renewals = new AtomicInteger();
		await("renewed").atMost(SOON).until(() -> {
			Duration remaining = lease.remaining();
			if (remaining.compareTo(last[0]) > 0) {
				renewals.incrementAndGet();
			}
			last[0] = remaining;
			return renewals.get() >= 3;
		});
		assertThat(this.locks.acquireAsync(LockRequest.of("another"))).succeedsWithin(SOON)
			.satisfies(LockLease::release);
		lease.release();
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@DisplayName("Slow listeners, and slow actions before them, share 64 threads, and delay neither grants nor renewals")
	@ExtendWith(OutputCaptureExtension.class)
	void slow(boolean actions, CapturedOutput output) {
		CountDownLatch listened = new CountDownLatch(MANY);
		this.engine.onLost((event) -> {
			if (!actions) {
				block();
			}
			listened.countDown();
		});
		loseMany((lease) -> {
			if (actions) {
				lease.onLost(this::block);
			}
		});
		await("all threads are busy").atMost(SOON).until(() -> this.running.get() == MOST);
		assertOtherRequestsProceed();
		assertThat(output).contains("64 threads");
		this.unblock.countDown();
		await("all have run").atMost(SOON).until(() -> this.done.get() == MANY && listened.getCount() == 0);
		assertThat(this.maximum).hasValue(MOST);
	}

	@Test
	@DisplayName("Actions that throw, or are added after the loss, keep no thread")
	void failing() {
		loseMany((lease) -> lease.onLost(() -> {
			throw new AssertionError("of the application");
		}));
		LockLease lost = this.locks.acquire("lost");
		this.locks.forceRelease("lost");
		await("lost").atMost(SOON).until(() -> !lost.isHeld());
		IntStream.range(0, MANY).forEach((i) -> lost.onLost(this::block));
		await("all threads are busy").atMost(SOON).until(() -> this.running.get() == MOST);
		this.unblock.countDown();
		await("all have run").atMost(SOON).until(() -> this.done.get() == MANY);
		assertThat(this.maximum).hasValue(MOST);
	}

	@Test
	@DisplayName("An interrupt on loss does not wait for slow actions")
	void interrupts() {
		TestApplication.runner().withBean(Shop.class).run((context) -> {
			LockService locks = context.getBean(LockService.class);
			LockLease lost = locks.acquire("lost");
			locks.admin().forceRelease("lost");
			await("lost").atMost(SOON).until(() -> !lost.isHeld());
			IntStream.range(0, MANY).forEach((i) -> lost.onLost(this::block));
			await("all threads are busy").atMost(SOON).until(() -> this.running.get() == MOST);
			CompletableFuture<Boolean> interrupted = CompletableFuture
				.supplyAsync(() -> context.getBean(Shop.class).work());
			await("at work").atMost(SOON).until(() -> locks.status("work").isLocked());
			locks.admin().forceRelease("work");
			assertThat(interrupted).failsWithin(SOON).withThrowableThat().withCauseInstanceOf(LeaseLostException.class);
			this.unblock.countDown();
		});
	}

	@Test
	@DisplayName("Calls that ignore the interrupt on loss do not keep a thread each")
	void ignoredInterrupts() {
		TestApplication.runner().withBean(Shop.class).run((context) -> {
			LockService locks = context.getBean(LockService.class);
			CountDownLatch begun = new CountDownLatch(MOST);
			CountDownLatch interrupted = new CountDownLatch(MOST);
			List<CompletableFuture<?>> calls = IntStream.range(0, MOST)
				.<CompletableFuture<?>>mapToObj((i) -> CompletableFuture.runAsync(
						() -> context.getBean(Shop.class).ignore("k" + i, begun, interrupted, this.unblock),
						(task) -> new Thread(task).start()))
				.toList();
			await("at work").atMost(SOON).until(() -> begun.getCount() == 0);
			IntStream.range(0, MOST).forEach((i) -> locks.admin().forceRelease("k" + i));
			await("interrupted").atMost(SOON).until(() -> interrupted.getCount() == 0);
			assertThat(Thread.getAllStackTraces().keySet()).map(Thread::getName)
				.filteredOn((name) -> name.equals("holdfast-call"))
				.hasSizeLessThan(2);
			this.unblock.countDown();
			assertThat(calls).allSatisfy((call) -> assertThat(call).failsWithin(SOON)
				.withThrowableThat()
				.withCauseInstanceOf(LeaseLostException.class));
		});
	}

	static class Shop {

		@DistributedLock(key = "#key", onLoss = OnLoss.INTERRUPT)
		void ignore(String key, CountDownLatch begun, CountDownLatch interrupted, CountDownLatch unblock) {
			begun.countDown();
			while (!Thread.currentThread().isInterrupted()) {
				LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
			}
			interrupted.countDown();
			while (unblock.getCount() > 0) {
				Thread.yield();
			}
		}

		@DistributedLock(key = "'work'", onLoss = OnLoss.INTERRUPT)
		boolean work() {
			try {
				new CountDownLatch(1).await();
				return false;
			}
			catch (InterruptedException ex) {
				return true;
			}
		}

	}

}
