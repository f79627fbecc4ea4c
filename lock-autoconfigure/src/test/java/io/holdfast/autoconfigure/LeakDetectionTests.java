package io.holdfast.autoconfigure;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.Lease;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.engine.LeakDetector;
import io.holdfast.testing.RedisTestCase;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestApplication;
import io.reactivex.rxjava3.core.Completable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Warnings of leases that are held for too long.
 */
@ExtendWith(OutputCaptureExtension.class)
class LeakDetectionTests extends RedisTestCase {

	private static final String METHOD = Shop.class.getName() + ".sellUntil";

	private ConfigurableApplicationContext start(String threshold) {
		return TestApplication.start(this.redis, Shop.class, "holdfast.leak-detection-threshold=" + threshold);
	}

	private static LockLease leak(LockService locks) {
		return locks.acquire(LockRequest.of("leaked").name("report"));
	}

	@Test
	@DisplayName("A lease held for longer than the threshold gives a warning with the place of its acquire, and a line at its end")
	void leaked(CapturedOutput output) {
		ConfigurableApplicationContext context = start("100ms");
		LockService locks = context.getBean(LockService.class);
		Lease lease = leak(locks);
		await().until(() -> output.getOut().contains("Lock 'leaked' (report) is still held after 100 ms"));
		assertThat(output)
			.contains("by thread " + Thread.currentThread().getName() + " at " + LeakDetectionTests.class.getName()
					+ ".leak(LeakDetectionTests.java:")
			.contains("raise the threshold", "use try-with-resources or withLock");
		lease.close();
		await().until(() -> output.getOut().contains("Lock 'leaked' (report), which was still held after 100 ms"));
		Lease permit = context.getBean(SemaphoreService.class).acquire(SemaphoreRequest.of("permits", 1));
		await().until(() -> output.getOut().contains("A permit of semaphore 'permits' is still held"));
		permit.close();
		assertThat(output).contains(" at " + LeakDetectionTests.class.getName() + ".leaked(");
	}

	@Test
	@DisplayName("The place of an annotated method's lock is its caller")
	void annotated(CapturedOutput output) {
		ConfigurableApplicationContext context = start("100ms");
		context.getBean(Shop.class)
			.sell(() -> await().until(() -> output.getOut().contains("Lock 'shop' (shop) is still held")));
		assertThat(output).contains(" at " + LeakDetectionTests.class.getName() + ".annotated(");
	}

	@Test
	@DisplayName("The place of the lock around a chain is its subscription, with any reactive library")
	void subscribed(CapturedOutput output) {
		ConfigurableApplicationContext context = start("100ms");
		context.getBean(Shop.class)
			.sellLater(() -> await().until(() -> output.getOut().contains("Lock 'shop' (shop) is still held")))
			.blockingAwait();
		assertThat(output).contains(" at " + LeakDetectionTests.class.getName() + ".subscribed(");
	}

	@Test
	@DisplayName("A lease whose caller has gone during its method is named, before and after the threshold")
	void callerGone(CapturedOutput output) {
		ConfigurableApplicationContext context = start("500ms");
		CompletableFuture<String> work = new CompletableFuture<>();
		Shop shop = context.getBean(Shop.class);
		LockService locks = context.getBean(LockService.class);
		CompletableFuture<String> early = shop.sellUntil("early", work);
		CompletableFuture<String> late = shop.sellUntil("late", work);
		CompletableFuture<String> several = locks.withLockAsync(LockRequest.ofAll(List.of("a", "b")), () -> work);
		await().until(() -> work.getNumberOfDependents() == 3);
		early.cancel(true);
		await().until(() -> output.getOut().contains("Lock 'late' (" + METHOD + ") is still held after 500 ms")
				&& output.getOut().contains("Lock 'a, b' is still held after 500 ms"));
		assertThat(line(output, "Lock 'early' (" + METHOD + ") is still held after 500 ms"))
			.contains(" at " + LeakDetectionTests.class.getName() + ".callerGone(")
			.contains("Its caller has gone (it cancelled, or timed out), and the method goes on", "maxHold")
			.doesNotContain("try-with-resources");
		assertThat(line(output, "Lock 'late' (" + METHOD + ") is still held")).contains("try-with-resources")
			.doesNotContain("caller has gone");
		late.orTimeout(1, TimeUnit.MILLISECONDS);
		several.complete("enough");
		await().until(() -> output.getOut()
			.contains("Lock 'late' (" + METHOD + ") is held for longer than 500 ms. Its caller has gone")
				&& output.getOut().contains("Lock 'a, b' is held for longer than 500 ms. Its caller has gone"));
		work.complete("sold");
		await().until(() -> !locks.status("early").isLocked() && !locks.status("late").isLocked()
				&& !locks.status("a").isLocked());
	}

	@Test
	@DisplayName("A lease is not named for the gone caller of a nested call")
	void nestedCallerGone(CapturedOutput output) {
		ConfigurableApplicationContext context = start("500ms");
		LockService locks = context.getBean(LockService.class);
		locks.withLock("outer", () -> {
			CompletableFuture<String> work = new CompletableFuture<>();
			CompletableFuture<String> nested = locks.withLockAsync("outer", () -> work);
			await().until(() -> work.getNumberOfDependents() == 1);
			nested.cancel(true);
			work.complete("done");
			await().until(() -> output.getOut().contains("Lock 'outer' is still held after 500 ms"));
		});
		assertThat(line(output, "Lock 'outer' is still held")).contains("try-with-resources")
			.doesNotContain("caller has gone");
	}

	private static String line(CapturedOutput output, String part) {
		return output.getOut().lines().filter((line) -> line.contains(part)).findFirst().orElseThrow();
	}

	@Test
	@DisplayName("A lease that is released before the threshold gives no warning")
	void released(CapturedOutput output) {
		ConfigurableApplicationContext context = start("500ms");
		LockService locks = context.getBean(LockService.class);
		locks.acquire("released").close();
		// This later grant would give the later warning.
		Lease lease = leak(locks);
		await().until(() -> output.getOut().contains("Lock 'leaked' (report) is still held"));
		lease.close();
		assertThat(output).doesNotContain("'released'");
	}

	@Slow
	@Test
	@DisplayName("A lease that is lost at the threshold, as after a pause of the JVM, gives no warning")
	void lost(CapturedOutput output) {
		ConfigurableApplicationContext context = start("3s");
		LockService locks = context.getBean(LockService.class);
		LockLease lost = locks.acquire("lost");
		Lease leaked = leak(locks);
		long threshold = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(3200);
		await().until(() -> System.nanoTime() - threshold > 0);
		locks.admin().forceRelease("lost");
		assertThat(lost.isHeld()).isFalse();
		await().until(() -> output.getOut().contains("Lock 'leaked' (report) is still held"));
		assertThat(output).doesNotContain("Lock 'lost' is still held");
		leaked.close();
	}

	@Test
	@DisplayName("Without a threshold there is no detector")
	void off() {
		ConfigurableApplicationContext context = TestApplication.start(this.redis);
		assertThat(context.getBeanProvider(LeakDetector.class).stream()).isEmpty();
	}

	static class Shop {

		@DistributedLock(name = "shop")
		public void sell(Runnable work) {
			work.run();
		}

		@DistributedLock(key = "#key")
		public CompletableFuture<String> sellUntil(String key, CompletableFuture<String> end) {
			return end;
		}

		@DistributedLock(name = "shop")
		public Completable sellLater(Runnable work) {
			return Completable.fromRunnable(work);
		}

	}

}
