package io.holdfast.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Holders count as lost some time before Redis grants the lock again.
 */
@Slow
class LossMarginTests extends ProxiedTestCase {

	private static final Duration MARGIN = Duration.ofSeconds(1);

	/** Redis answers in whole milliseconds. */
	private static final Duration WHOLE = Duration.ofMillis(1);

	private static final LockRequest REQUEST = LockRequest.of("margin")
		.leaseTime(MARGIN.multipliedBy(3))
		.lossMargin(MARGIN)
		.waitTime(SOON);

	/**
	 * Wait until a lease is lost. A held lease's key lives for longer than the margin, so
	 * it did just before the lease was last seen as held.
	 */
	private void assertLostBeforeOthers(LockLease lease, Duration margin) {
		List<Duration> left = new ArrayList<>();
		await("loss").atMost(SOON).pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(5)).until(() -> {
			List<Duration> before = lease.keys().stream().map(this.fleet::timeToLive).toList();
			boolean held = lease.isHeld();
			if (held) {
				left.addAll(before);
			}
			return !held;
		});
		assertThat(left).isNotEmpty().allMatch((time) -> time.compareTo(margin.minus(WHOLE)) >= 0);
	}

	@ParameterizedTest(name = "{0}: Without Redis, the lease is lost before its key ends, and waiters wait for the key")
	@EnumSource
	void lostBeforeOthers(LockMode mode) {
		Instance cut = this.fleet.start(this.proxy);
		Instance other = this.fleet.start();
		LockLease lease = cut.acquire(REQUEST.mode(mode));
		CompletableFuture<Boolean> next = other.acquireInBackground(LockRequest.of("margin").waitTime(SOON))
			.thenApply((granted) -> {
				boolean heldTwice = lease.isHeld();
				granted.close();
				return heldTwice;
			});
		this.fleet.awaitQueued("margin");
		this.proxy.down();
		assertLostBeforeOthers(lease, MARGIN);
		assertThat(next).succeedsWithin(SOON).isEqualTo(false);
		this.proxy.up();
		assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
	}

	@Test
	@DisplayName("Of several keys none ends before the margin is over")
	void severalKeys() {
		Instance cut = this.fleet.start(this.proxy);
		LockRequest several = LockRequest.ofAll(List.of("margin", "margin2"));
		LockLease lease = cut.acquire(several.leaseTime(MARGIN.multipliedBy(3)).lossMargin(MARGIN));
		this.proxy.down();
		assertLostBeforeOthers(lease, MARGIN);
		this.proxy.up();
		assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
	}

	@Test
	@DisplayName("The margin is taken off the time of a manual extension")
	void extend() {
		LockLease lease = this.fleet.start().acquire(REQUEST.autoRenew(false));
		lease.extend(MARGIN.multipliedBy(5));
		assertThat(lease.remaining()).isLessThanOrEqualTo(MARGIN.multipliedBy(4));
		assertLostBeforeOthers(lease, MARGIN);
		assertThat(lease.release()).isEqualTo(ReleaseResult.LOST);
	}

	@Test
	@DisplayName("With the property and INTERRUPT, a method has ended before another instance runs")
	void interrupted() {
		String[] margin = { "holdfast.lock.lease-time=6s", "holdfast.lock.loss-margin=2s" };
		Instance cut = this.fleet.start(this.proxy, Application.class, margin);
		Instance other = this.fleet.start(margin);
		Jobs jobs = cut.context().getBean(Jobs.class);
		CountDownLatch runs = new CountDownLatch(1);
		CompletableFuture<Duration> left = new CompletableFuture<>();
		CompletableFuture<Object> job = Instance.inBackground(() -> {
			jobs.run(runs::countDown, () -> left.complete(this.fleet.timeToLive("margin")));
			return "not reached";
		});
		await("the job").atMost(SOON).until(() -> runs.getCount() == 0);
		CompletableFuture<Boolean> next = other
			.acquireInBackground(LockRequest.of("margin").waitTime(SOON.multipliedBy(2)))
			.thenApply((granted) -> {
				granted.close();
				return left.isDone();
			});
		this.fleet.awaitQueued("margin");
		this.proxy.down();
		assertThat(left).succeedsWithin(SOON)
			.satisfies((time) -> assertThat(time).as("of 2 s, on a busy machine").isBetween(HALF_A_SECOND, SOON));
		assertThat(next).succeedsWithin(SOON.multipliedBy(2)).isEqualTo(true);
		this.proxy.up();
		assertThat(job).failsWithin(SOON).withThrowableThat().withCauseInstanceOf(LeaseLostException.class);
	}

	@Configuration(proxyBeanMethods = false)
	@Import(Jobs.class)
	static class Application extends TestApplication {

	}

	static class Jobs {

		@DistributedLock(name = "margin", onLoss = OnLoss.INTERRUPT)
		public void run(Runnable begin, Runnable end) throws InterruptedException {
			begin.run();
			try {
				TimeUnit.MINUTES.sleep(1);
			}
			finally {
				end.run();
			}
		}

	}

}
