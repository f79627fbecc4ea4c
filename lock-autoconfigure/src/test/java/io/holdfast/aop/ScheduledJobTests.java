package io.holdfast.aop;

import java.util.concurrent.TimeUnit;

import io.holdfast.annotation.ScheduledLock;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.aop.support.AopUtils;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.scheduling.annotation.Scheduled;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Scheduled methods that run in a single instance at a time.
 */
@ExtendWith(OutputCaptureExtension.class)
class ScheduledJobTests extends LockedTestCase {

	@Test
	@DisplayName("A scheduled method is called through the proxy, and skipped without an error while another instance runs it")
	void skipped(CapturedOutput output) {
		startByInterface(AdviceOrderTests.Scheduling.class, Job.class);
		assertThat(AopUtils.isCglibProxy(bean(Job.class))).isTrue();
		await().until(() -> this.locks.events().contains("unlock"));
		this.locks.busy();
		awaitRequests();
		this.locks.forget();
		awaitRequests();
		assertEvents();
		this.locks.free();
		await().until(() -> this.locks.events().contains("body"));
		assertThat(output).doesNotContain("LockNotAcquiredException");
	}

	/** Wait for two further requests, before which all earlier runs end. */
	private void awaitRequests() {
		int seen = this.locks.requests().size();
		await().until(() -> this.locks.requests().size() > seen + 2);
	}

	static class Job extends Recorded {

		@Scheduled(fixedDelay = 5, timeUnit = TimeUnit.MILLISECONDS)
		@ScheduledLock(name = "job")
		void run() {
			this.recorder.record("body");
		}

	}

}
