package io.holdfast.faults;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.holdfast.LeaseLostException;
import io.holdfast.LockRequest;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The loss margin of an application: a holder counts as lost before Redis grants the lock
 * again.
 */
@Slow
class LossMarginTests extends ProxiedTestCase {

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
