package io.holdfast.engine;

import java.util.concurrent.CompletionException;

import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.StoreCommandException;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests of {@link EngineExceptions}.
 */
class EngineExceptionsTests {

	@Test
	@DisplayName("The text of an error omits the class of a CompletionException around its cause")
	void inWords() {
		assertThat(EngineExceptions.text(new CompletionException(new StoreCommandException("trouble", true, null))))
			.isEqualTo("trouble");
		assertThat(EngineExceptions.text(new IllegalStateException())).isEqualTo("java.lang.IllegalStateException");
	}

	@ParameterizedTest
	@CsvSource({ "EXCLUSIVE, 0, false, false, still held by others",
			"EXCLUSIVE, 0, true, false, still held by a client other than Holdfast",
			"EXCLUSIVE, 1, false, false, still held by 1 reader", "EXCLUSIVE, 2, false, false, still held by 2 readers",
			"READ, 1, false, false, 'still held by 1 reader, and others came first'",
			"READ, 0, false, true, 'still held by owners that may not be known yet: during the grace after a restart or"
					+ " fail-over of Redis, nothing new is granted (holdfast.redis.fail-over-grace)'" })
	@DisplayName("The refusal of a lock without a known exclusive holder names the readers or the foreign client")
	void refusedLock(LockMode mode, int readers, boolean foreign, boolean inGrace, String end) {
		ResolvedRequest request = Settings.resolve(LockRequest.of("k").mode(mode), EngineSettings.defaults()).get(0);
		Busy busy = new Busy(1000, 10, foreign, null, readers, 0, inGrace);
		assertThat(EngineExceptions.timedOut(request, 5_000_000, busy)).hasMessageEndingWith("after 5 ms: " + end);
	}

	@ParameterizedTest
	@CsvSource({ "2, 'not enough of them were free (2 of 3 in use). To wait longer, give a waitTime, '",
			"1, 'others came first (2 of 3 in use). To wait longer, give a waitTime, '" })
	@DisplayName("The refusal of permits names the permits in use and the limit, or earlier requests")
	void refusedPermits(int permits, String why) {
		ResolvedRequest request = Settings.resolve(SemaphoreRequest.of("k", 5).permits(permits),
				EngineSettings.defaults());
		Busy busy = new Busy(1000, 10, false, null, 2, 3, false);
		assertThat(EngineExceptions.timedOut(request, 5_000_000, busy)).hasMessageContaining("'k' (limit 3)")
			.hasMessageContaining("after 5 ms: " + why + "or set holdfast.semaphore.wait-time, which is 0 by default");
	}

	@Test
	@DisplayName("The refusal of permits during a fail-over grace names the grace")
	void refusedPermitsInGrace() {
		ResolvedRequest request = Settings.resolve(SemaphoreRequest.of("k", 5), EngineSettings.defaults());
		Busy busy = new Busy(1000, 10, false, null, 0, 5, true);
		assertThat(EngineExceptions.timedOut(request, 5_000_000, busy))
			.hasMessageEndingWith("after 5 ms: during the grace"
					+ " after a restart or fail-over of Redis, nothing new is granted (holdfast.redis.fail-over-grace)");
	}

}
