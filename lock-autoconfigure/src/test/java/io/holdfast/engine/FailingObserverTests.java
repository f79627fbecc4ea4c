package io.holdfast.engine;

import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.ReleaseResult;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * An observer that throws affects neither the engine nor other observers.
 */
@ExtendWith(OutputCaptureExtension.class)
class FailingObserverTests extends ScriptedEngine {

	private int thrown;

	private final RecordingObserver observer = new RecordingObserver();

	@Test
	void aThrowingObserverAffectsNothingAndIsLoggedOnce(CapturedOutput output) {
		this.engine.observe(new Failing(When.LATER));
		this.engine.observe(new Failing(When.AT_BEGIN));
		this.engine.observe(new Failing(When.BEFORE));
		this.engine.observe(this.observer);
		LockLease lease = granted(REQUEST, 10);
		this.store.elapse(10_000);
		this.store.last("renew 1").renewed(true);
		assertThat(lease.isHeld()).isTrue();
		CompletableFuture<LockLease> next = this.service.acquireAsync(REQUEST);
		CompletableFuture<ReleaseResult> released = lease.releaseAsync();
		this.store.last("release 1 next 2").granted(20, 30_000);
		assertThat(released).isCompletedWithValue(ReleaseResult.RELEASED);
		assertThat(next).isCompleted();
		this.store.elapse(10_000);
		this.store.last("renew 2").fail(true);
		this.store.elapse(1000);
		this.store.last("renew 2").renewed(false);
		assertThat(next.join().isHeld()).isFalse();
		next.join().releaseAsync();
		this.service.acquireAsync(REQUEST).cancel(false);
		assertThat(this.observer.events()).containsExactly("k began", "k granted [10]", "renewal LOCK RENEWED",
				"k began", "k ended RELEASED", "handed over LOCK PASSED_ON", "k granted [20]", "renewal LOCK FAILED",
				"failed RENEW", "renewal LOCK LOST", "lost LOCK null", "k ended LOST", "k began",
				"k failed INTERRUPTED");
		assertThat(this.thrown)
			.as("all events but begins by the first; requests, renewals, losses and failures by the others")
			.isEqualTo(11 + 8 + 8);
		assertThat(output).containsOnlyOnce("An observer of leases failed").contains("WARN");
	}

	private enum When {

		BEFORE, AT_BEGIN, LATER

	}

	/** Observer that throws exceptions and errors alternately. */
	private final class Failing implements EngineObserver {

		/** First event of a request at which the observer throws. */
		private final When when;

		Failing(When when) {
			this.when = when;
		}

		private RuntimeException failure() {
			if (FailingObserverTests.this.thrown++ % 2 == 0) {
				throw new AssertionError("of the observer");
			}
			return new IllegalStateException("of the observer");
		}

		@Override
		public RequestObserver requested(ObservedRequest request) {
			if (this.when == When.BEFORE) {
				throw failure();
			}
			return new RequestObserver() {

				@Override
				public void began() {
					if (Failing.this.when == When.AT_BEGIN) {
						throw failure();
					}
				}

				@Override
				public void handedOver(HandOver way) {
					throw failure();
				}

				@Override
				public void granted(List<Long> fences) {
					throw failure();
				}

				@Override
				public void failed(RuntimeException why) {
					throw failure();
				}

				@Override
				public void ended(HoldEnd end) {
					throw failure();
				}

			};
		}

		@Override
		public void lost(Kind kind, @Nullable String name) {
			throw failure();
		}

		@Override
		public void renewed(Kind kind, RenewalOutcome outcome) {
			throw failure();
		}

		@Override
		public void failed(Command command) {
			throw failure();
		}

	}

}
