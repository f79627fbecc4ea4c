package io.holdfast.observation.meter;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;

/**
 * The gauges of one observer, which leave the registry with it: one that stayed would
 * keep the place from the next that has its name, and have no value. Where several
 * observers have one registry, the first has the gauge of a name. Thread-safe.
 */
final class Gauges implements AutoCloseable {

	/** Of each registry, whose gauges have an observer; guarded by itself. */
	private static final Map<MeterRegistry, Set<Meter.Id>> taken = new WeakHashMap<>();

	final MeterRegistry registry;

	/** Guarded by this. */
	private final List<Gauge> registered = new ArrayList<>();

	/** Guarded by this. */
	private boolean closed;

	Gauges(MeterRegistry registry) {
		this.registry = registry;
	}

	synchronized void register(Gauge.Builder<?> gauge) {
		if (this.closed) {
			return;
		}
		synchronized (taken) {
			Gauge known = gauge.register(this.registry);
			// That of another observer is given back, too: it is not to go with this one.
			if (taken.computeIfAbsent(this.registry, (k) -> new HashSet<>()).add(known.getId())) {
				this.registered.add(known);
			}
		}
	}

	@Override
	public synchronized void close() {
		this.closed = true;
		synchronized (taken) {
			for (Gauge gauge : this.registered) {
				this.registry.remove(gauge);
				taken.getOrDefault(this.registry, Set.of()).remove(gauge.getId());
			}
		}
		this.registered.clear();
	}

}
