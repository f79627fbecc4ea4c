package io.holdfast.engine;

import java.lang.reflect.Proxy;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.ReleaseResult;
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
		this.engine.observe(failing(When.LATER));
		this.engine.observe(failing(When.AT_BEGIN));
		this.engine.observe(failing(When.BEFORE));
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

	/**
	 * Return an observer that throws exceptions and errors alternately, from the given
	 * event of a request on.
	 */
	private EngineObserver failing(When when) {
		return (EngineObserver) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { EngineObserver.class, EngineObserver.RequestObserver.class },
				(proxy, event, arguments) -> {
					if (event.getDeclaringClass() == Object.class) {
						return "failing observer";
					}
					if (event.getName().equals("requested") && when != When.BEFORE) {
						return proxy;
					}
					if (event.getName().equals("began") && when != When.AT_BEGIN) {
						return null;
					}
					if (this.thrown++ % 2 == 0) {
						throw new AssertionError("of the observer");
					}
					throw new IllegalStateException("of the observer");
				});
	}

}
