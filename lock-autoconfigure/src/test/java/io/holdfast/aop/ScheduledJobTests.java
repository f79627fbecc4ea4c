package io.holdfast.aop;

import java.util.concurrent.TimeUnit;

import io.holdfast.annotation.ScheduledLock;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.aop.support.AopUtils;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.scheduling.annotation.Scheduled;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Scheduled methods that run in a single instance at a time.
 */
@ExtendWith(OutputCaptureExtension.class)
class ScheduledJobTests {

	@Test
	@DisplayName("A scheduled method is called through the proxy, and skipped without an error while another instance runs it")
	void skipped(CapturedOutput output) {
		try (LockedContext context = LockedContext.of(AdviceOrderTests.Scheduling.class, Job.class)) {
			assertThat(AopUtils.isCglibProxy(context.bean(Job.class))).isTrue();
			RecordingLocks locks = context.locks();
			Awaitility.await().until(() -> locks.events().contains("unlock"));
			assertThatNoneRuns(locks);
			locks.free();
			Awaitility.await().until(() -> locks.events().contains("body"));
		}
		assertThat(output).doesNotContain("LockNotAcquiredException");
	}

	private static void assertThatNoneRuns(RecordingLocks locks) {
		locks.busy();
		awaitRequests(locks);
		locks.forget();
		awaitRequests(locks);
		assertThat(locks.events()).isEmpty();
	}

	/** Wait for two further requests, before which all earlier runs end. */
	private static void awaitRequests(RecordingLocks locks) {
		int seen = locks.requests().size();
		Awaitility.await().until(() -> locks.requests().size() > seen + 2);
	}

	static class Job extends Recorded {

		@Scheduled(fixedDelay = 5, timeUnit = TimeUnit.MILLISECONDS)
		@ScheduledLock(name = "job")
		void run() {
			this.recorder.record("body");
		}

	}

}
