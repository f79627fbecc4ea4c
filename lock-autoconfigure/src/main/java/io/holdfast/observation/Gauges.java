package io.holdfast.observation;

import java.util.ArrayList;
import java.util.List;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;

/**
 * The gauges of one observer, which leave the registry with it: one that stayed would
 * keep the place from the next that has its name, and have no value. Thread-safe.
 */
final class Gauges implements AutoCloseable {

	final MeterRegistry registry;

	/** Guarded by this. */
	private final List<Gauge> registered = new ArrayList<>();

	/** Guarded by this. */
	private boolean closed;

	Gauges(MeterRegistry registry) {
		this.registry = registry;
	}

	synchronized void register(Gauge.Builder<?> gauge) {
		if (!this.closed) {
			this.registered.add(gauge.register(this.registry));
		}
	}

	@Override
	public synchronized void close() {
		this.closed = true;
		this.registered.forEach(this.registry::remove);
		this.registered.clear();
	}

}
