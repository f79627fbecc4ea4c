package io.holdfast.aop;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import io.holdfast.LeaseLostException;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.testing.Slow;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Leases that are lost at the end of their methods: in either order, no interrupt is seen
 * after the call.
 */
@Slow
class InterruptRaceTests extends LockedTestCase {

	private static final int RUNS = 10_000;

	@Test
	@DisplayName("A loss at any moment around the method's end interrupts the method or nothing")
	void lossAtTheEnd() throws Exception {
		ExecutorService losers = Executors.newSingleThreadExecutor();
		Shop shop = start(Shop.class);
		int lost = 0;
		try {
			for (int i = 0; i < RUNS; i++) {
				CountDownLatch running = new CountDownLatch(1);
				long delay = (i % 50) * 1_000L;
				Future<?> loser = losers.submit(() -> {
					running.await();
					pause(delay);
					this.locks.lease("race").loseHere();
					return null;
				});
				try {
					shop.run(running);
				}
				catch (LeaseLostException ex) {
					lost++;
				}
				assertThat(Thread.currentThread().isInterrupted()).as("just after run %d", i).isFalse();
				loser.get();
				assertThat(Thread.interrupted()).as("long after run %d", i).isFalse();
				this.locks.forget();
			}
		}
		finally {
			losers.shutdownNow();
			assertThat(losers.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
		}
		assertThat(lost).as("losses before the end of the method").isBetween(1, RUNS - 1);
	}

	private static void pause(long nanos) {
		for (long end = System.nanoTime() + nanos; System.nanoTime() < end;) {
			Thread.onSpinWait();
		}
	}

	static class Shop {

		@DistributedLock(name = "race", onLoss = OnLoss.INTERRUPT)
		void run(CountDownLatch running) {
			running.countDown();
			LockSupport.parkNanos(1_000);
		}

	}

}
