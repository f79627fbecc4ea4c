package io.holdfast.observation.meter;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;

import io.holdfast.engine.ObservedEngine;
import io.holdfast.engine.ObservedRequest;
import io.holdfast.engine.store.LeaseStore.PermitState;
import io.holdfast.engine.store.Resource.Kind;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.Gauge;
import org.jspecify.annotations.Nullable;

/**
 * Gauges of all permits, and of the permits that the whole fleet uses. Only of semaphores
 * whose key is their name: that is bounded as names are, and evaluated keys and
 * namespaces are not. Thread-safe.
 */
final class FleetPermits {

	private final Gauges gauges;

	private final Map<String, Reading> readings = new ConcurrentHashMap<>();

	FleetPermits(Gauges gauges) {
		this.gauges = gauges;
	}

	/** Something is asked for: from now on it is looked at, if it is to be. */
	void used(ObservedRequest request) {
		String name = request.name();
		if (request.kind() == Kind.SEMAPHORE && name != null && request.keys().get(0).equals(name)) {
			this.readings.computeIfAbsent(name, (key) -> register(request.engine(), key));
		}
	}

	private Reading register(ObservedEngine engine, String key) {
		Reading reading = new Reading(engine, key, this.gauges.registry.config().clock());
		gauge("used", "Permits that are held, in the whole fleet, where the key is the name", reading,
				(current) -> current.used);
		gauge("limit", "Permits that there are, for the whole fleet, where the key is the name", reading,
				(current) -> current.limit);
		return reading;
	}

	private void gauge(String what, String description, Reading reading, ToDoubleFunction<Reading> value) {
		this.gauges.register(
				Gauge.builder("holdfast.semaphore.permits." + what, reading, (current) -> current.refreshed(value))
					.description(description)
					.tag("name", reading.key));
	}

	/**
	 * Return the last answer of the store. Asks it again, without waiting for the answer,
	 * which is for the next call.
	 */
	private static final class Reading {

		private static final long INTERVAL = TimeUnit.SECONDS.toNanos(5);

		private final ObservedEngine engine;

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

		Reading(ObservedEngine engine, String key, Clock clock) {
			this.engine = engine;
			this.key = key;
			this.clock = clock;
		}

		double refreshed(ToDoubleFunction<Reading> value) {
			refresh();
			return value.applyAsDouble(this);
		}

		private synchronized void refresh() {
			long now = this.clock.monotonicTime();
			boolean due = this.question == null || this.question.isDone() && now - this.askedAt >= INTERVAL;
			if (due) {
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

}
