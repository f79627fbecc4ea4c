package io.holdfast.engine;

import java.time.Duration;

import io.holdfast.LockRequest;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Warnings of long waits behind a foreign owner, which hands nothing over.
 */
@ExtendWith(OutputCaptureExtension.class)
class ForeignOwnerRulesTests extends ScriptedEngine {

	private static final LockRequest PATIENT = REQUEST.waitTime(Duration.ofMinutes(10));

	private void busy(long millis, long ownerTtlMillis, boolean foreign) {
		for (long passed = 0; passed < millis; passed += 150) {
			this.store.last("acquire 1").busy(ownerTtlMillis, 5, foreign);
			this.store.elapse(150);
		}
	}

	@Test
	@DisplayName("A foreign owner that holds a lock for more than a lease time is logged once")
	void foreignOwner(CapturedOutput output) {
		this.service.acquireAsync(PATIENT);
		this.service.acquireAsync(PATIENT);
		this.store.elapse(10);
		busy(29_000, 20_000, true);
		assertThat(output).doesNotContain("has been held by");
		busy(90_000, 20_000, true);
		assertThat(output.toString()).containsOnlyOnce("lock 'k' has been held by a client other than Holdfast")
			.containsPattern("WARN .*For 30\\d{3} ms, .*; 2 requests wait for it here. Its lease ends in 20000 ms");
	}

	@Test
	@DisplayName("Instances, and foreign owners that release in between, are not logged")
	void noForeignOwner(CapturedOutput output) {
		this.service.acquireAsync(PATIENT);
		this.store.elapse(10);
		busy(20_000, 20_000, true);
		busy(150, 20_000, false);
		busy(20_000, 20_000, true);
		assertThat(output).doesNotContain("has been held by");
		this.store.last("acquire 1").granted(6, 30_000);
		assertThat(output).doesNotContain("has been held by");
	}

	@Test
	@DisplayName("A foreign owner without an end is not logged here, as the store has warned already")
	void withoutEnd(CapturedOutput output) {
		this.service.acquireAsync(PATIENT);
		this.store.elapse(10);
		busy(60_000, -1, true);
		assertThat(output).doesNotContain("has been held by");
	}

}
