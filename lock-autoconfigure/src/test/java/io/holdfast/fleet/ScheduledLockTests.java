package io.holdfast.fleet;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.ScheduledLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.annotation.AnnotatedElementUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Jobs with {@link ScheduledLock} in two instances.
 */
@WithRedis
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ScheduledLockTests {

	private static final Duration PERIOD = Duration.ofSeconds(2);

	/** Redis counts milliseconds by its own clock. */
	private static final Duration CLOCK = Duration.ofMillis(20);

	private final TestRedis redis;

	private final ConfigurableApplicationContext first;

	private final ConfigurableApplicationContext second;

	ScheduledLockTests(TestRedis redis) {
		this.redis = redis;
		this.first = TestApplication.start(redis, Jobs.class);
		this.second = TestApplication.start(redis, Jobs.class);
	}

	@AfterEach
	void forget() {
		Stream.of(this.first, this.second).forEach((context) -> jobs(context).forget());
	}

	private static Jobs jobs(ConfigurableApplicationContext context) {
		return context.getBean(Jobs.class);
	}

	private boolean isLocked(String key) {
		return this.second.getBean(LockService.class).status(key).isLocked();
	}

	@Test
	@DisplayName("A job runs in one instance; all other instances skip it while it runs and for minHold")
	void once() {
		jobs(this.first).report(() -> jobs(this.second).report(() -> {
		}));
		jobs(this.second).report(() -> {
		});
		jobs(this.first).report(() -> {
		});
		assertThat(jobs(this.first).runs() + jobs(this.second).runs()).isEqualTo(1);
		assertThat(this.first.getBean(LockService.class).status("report").remaining()).isBetween(Duration.ofSeconds(30),
				Duration.ofMinutes(1));
	}

	@Test
	@DisplayName("With a permit instead of the lock, a failed run excludes other instances for minHold, also if its"
			+ " instance stops")
	void failedOnce() {
		ConfigurableApplicationContext stopped = TestApplication.start(this.redis, Jobs.class);
		long start = System.nanoTime();
		assertThatIllegalStateException().isThrownBy(() -> jobs(stopped).once(() -> {
			throw new IllegalStateException("no paper");
		}));
		stopped.close();
		await("the next period").until(() -> {
			jobs(this.second).once(() -> {
			});
			return jobs(this.second).runs() == 1;
		});
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(PERIOD.minus(CLOCK));
	}

	@Test
	@DisplayName("Condition, lease time and maxHold apply to the lock")
	void terms() {
		jobs(this.first).unlocked(() -> jobs(this.second).unlocked(() -> assertThat(isLocked("unlocked")).isFalse()));
		assertThat(jobs(this.second).runs()).isEqualTo(1);
		jobs(this.first).limited(() -> assertThat(LockLease.current().remaining()).isBetween(Duration.ofSeconds(5),
				Duration.ofSeconds(9)));
		assertThat(jobs(this.first).runs()).isEqualTo(2);
	}

	@Test
	@DisplayName("The attributes are those of @DistributedLock, with the same names and defaults")
	void attributes() throws NoSuchMethodException {
		Map<String, Object> merged = AnnotatedElementUtils.getMergedAnnotationAttributes(
				Jobs.class.getDeclaredMethod("cleanUp", Runnable.class), "io.holdfast.annotation.DistributedLock");
		assertThat(merged).containsEntry("waitTime", "0")
			.containsEntry("minHold", "")
			.containsEntry("maxHold", "")
			.containsEntry("leaseTime", "")
			.containsEntry("condition", "")
			.containsEntry("service", "");
	}

	static class Jobs {

		private final AtomicInteger runs = new AtomicInteger();

		@ScheduledLock(name = "report", minHold = "1m")
		void report(Runnable body) {
			run(body);
		}

		@Semaphore(name = "once", limit = 1, waitTime = "0", minHold = "2s", leaseTime = "2s",
				onTimeout = OnTimeout.SKIP)
		void once(Runnable body) {
			run(body);
		}

		@ScheduledLock
		void cleanUp(Runnable body) {
			run(body);
		}

		@ScheduledLock(name = "unlocked", condition = "false")
		void unlocked(Runnable body) {
			run(body);
		}

		@ScheduledLock(name = "limited", leaseTime = "${no.such.time:9s}", maxHold = "9s")
		void limited(Runnable body) {
			run(body);
		}

		void forget() {
			this.runs.set(0);
		}

		int runs() {
			return this.runs.get();
		}

		private void run(Runnable body) {
			this.runs.incrementAndGet();
			body.run();
		}

	}

}
