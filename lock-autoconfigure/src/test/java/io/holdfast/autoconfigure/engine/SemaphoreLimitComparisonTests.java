package io.holdfast.autoconfigure.engine;

import java.time.Duration;

import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.util.StringUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Instances that give one semaphore different limits.
 */
@WithRedis
@ExtendWith(OutputCaptureExtension.class)
class SemaphoreLimitComparisonTests {

	private final ConfigurableApplicationContext first;

	private final ConfigurableApplicationContext second;

	SemaphoreLimitComparisonTests(TestRedis redis) {
		this.first = TestApplication.start(redis, "spring.application.name=first");
		this.second = TestApplication.start(redis, "spring.application.name=second");
		this.first.getBean(DefaultSemaphoreService.class).compareLimits(Duration.ofMillis(50));
	}

	private static PermitLease acquire(ConfigurableApplicationContext instance, String key, int limit) {
		return instance.getBean(SemaphoreService.class).acquire(SemaphoreRequest.of(key, limit));
	}

	/** Use a semaphore in both instances, which Redis knows for as long as it is held. */
	private void useUntilWarned(CapturedOutput output, String key) {
		try (PermitLease held = acquire(this.second, key, 5)) {
			await().until(() -> {
				acquire(this.first, key, 3).close();
				acquire(this.second, key, 5).close();
				return output.getOut()
					.contains("Semaphore '" + key + "' has a limit of 3 in this instance, and 5 in another");
			});
			assertThat(held.isHeld()).isTrue();
		}
	}

	@Test
	@DisplayName("One warning names both limits, and the other instances")
	void differentLimits(CapturedOutput output) {
		useUntilWarned(output, "different");
		assertThat(output).contains("another one (other instances: second on ")
			.contains(", process " + ProcessHandle.current().pid() + "): each request is judged by its own");
		useUntilWarned(output, "another");
		assertThat(StringUtils.countOccurrencesOf(output.getOut(), "Semaphore 'different' has a limit")).isEqualTo(1);
	}

	@Test
	@DisplayName("None comes where limits are the same, or an operator has set one")
	void sameLimit(CapturedOutput output) {
		this.first.getBean(SemaphoreService.class).admin().setLimit("set", 4);
		try (PermitLease same = acquire(this.second, "same", 3); PermitLease set = acquire(this.second, "set", 5)) {
			acquire(this.first, "same", 3).close();
			acquire(this.first, "set", 3).close();
			acquire(this.second, "set", 5).close();
			// Looked at later than these.
			useUntilWarned(output, "different");
			assertThat(same.isHeld() && set.isHeld()).isTrue();
		}
		assertThat(output).doesNotContain("Semaphore 'same' has").doesNotContain("Semaphore 'set' has");
	}

}
