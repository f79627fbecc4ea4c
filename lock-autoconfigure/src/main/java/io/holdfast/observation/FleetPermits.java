package io.holdfast.observation;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.micrometer.core.instrument.Clock;
import org.jspecify.annotations.Nullable;

/**
 * Limit of a semaphore and number of its used permits in all instances, as of the last
 * answer of the store. Each read refreshes the numbers in the background, for the next
 * read. Thread-safe.
 */
final class FleetPermits {

	private static final long INTERVAL = TimeUnit.SECONDS.toNanos(5);

	private final LeaseEngine engine;

	private final String key;

	private final Clock clock;

	private volatile double used = Double.NaN;

	private volatile double limit = Double.NaN;

	/** Last known limit of a request. */
	private volatile double lastRequestLimit = Double.NaN;

	/** Guarded by this. */
	private @Nullable CompletableFuture<?> question;

	/** Guarded by this. */
	private long questionAt;

	FleetPermits(LeaseEngine engine, String key, Clock clock) {
		this.engine = engine;
		this.key = key;
		this.clock = clock;
	}

	double used() {
		refresh();
		return this.used;
	}

	double limit() {
		refresh();
		return this.limit;
	}

	private synchronized void refresh() {
		long now = this.clock.monotonicTime();
		if (this.question == null || this.question.isDone() && now - this.questionAt >= INTERVAL) {
			this.questionAt = now;
			this.question = this.engine.inspectPermits(this.key).thenAccept(this::note);
		}
	}

	private void note(Standing state) {
		this.used = state.used();
		// For an unused semaphore, the store only knows the operator's limit.
		Integer operatorLimit = state.limit();
		this.lastRequestLimit = (state.asked() > 0) ? state.asked() : this.lastRequestLimit;
		this.limit = (operatorLimit != null) ? operatorLimit : this.lastRequestLimit;
	}

}
