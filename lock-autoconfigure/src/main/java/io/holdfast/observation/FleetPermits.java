package io.holdfast.observation;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.store.LeaseStore.PermitState;
import io.micrometer.core.instrument.Clock;
import org.jspecify.annotations.Nullable;

/**
 * All permits of a semaphore, and the ones in use by the whole fleet, by the last answer
 * of the store. Each question for a number asks the store again, without waiting for the
 * answer, which is for the next question. Thread-safe.
 */
final class FleetPermits {

	private static final long INTERVAL = TimeUnit.SECONDS.toNanos(5);

	private final LeaseEngine engine;

	private final String key;

	private final Clock clock;

	private volatile double used = Double.NaN;

	private volatile double limit = Double.NaN;

	/** The limit of the last request that the store told of. */
	private volatile double asked = Double.NaN;

	/** Guarded by this. */
	private @Nullable CompletableFuture<?> question;

	/** Guarded by this. */
	private long askedAt;

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
		if (this.question == null || this.question.isDone() && now - this.askedAt >= INTERVAL) {
			this.askedAt = now;
			this.question = this.engine.inspectPermits(this.key).thenAccept(this::note);
		}
	}

	private void note(PermitState state) {
		this.used = state.used();
		// Of an unused semaphore the store knows no limit but the operator's.
		Integer set = state.limit();
		this.asked = (state.asked() > 0) ? state.asked() : this.asked;
		this.limit = (set != null) ? set : this.asked;
	}

}
