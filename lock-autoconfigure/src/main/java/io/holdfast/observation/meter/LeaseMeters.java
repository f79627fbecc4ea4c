package io.holdfast.observation.meter;

import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import io.holdfast.engine.EngineObserver;
import io.holdfast.engine.ObservedRequest;
import io.holdfast.engine.store.Resource.Kind;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import org.jspecify.annotations.Nullable;

/**
 * Counts events in engines: current holds and waits, losses, renewals, hand-overs and
 * failed commands. No tag has more values than there are names of requests. Thread-safe.
 *
 * @since 0.1.0
 */
public final class LeaseMeters implements EngineObserver, AutoCloseable {

	private final MeterRegistry registry;

	private final Gauges gauges;

	private final FleetPermits fleet;

	private final Map<String, LeaseNumbers> locks = new ConcurrentHashMap<>();

	private final Map<String, LeaseNumbers> semaphores = new ConcurrentHashMap<>();

	/**
	 * Create the observer.
	 * @param registry where the meters go
	 */
	public LeaseMeters(MeterRegistry registry) {
		this.registry = registry;
		this.gauges = new Gauges(registry);
		this.fleet = new FleetPermits(this.gauges);
		// All possible ones, from the beginning: the rise of a missing meter is not seen.
		for (Kind kind : new Kind[] { Kind.LOCK, Kind.SEMAPHORE }) {
			for (RenewalOutcome outcome : RenewalOutcome.values()) {
				renewals(kind, outcome);
			}
			for (HandOver way : HandOver.values()) {
				handOvers(kind, way);
			}
		}
		for (Command command : Command.values()) {
			errors(command);
		}
	}

	private Counter renewals(Kind kind, RenewalOutcome outcome) {
		return counter(LeaseNumbers.prefix(kind) + "renewal", "Renewals of leases", "outcome", outcome);
	}

	private Counter handOvers(Kind kind, HandOver way) {
		return counter(LeaseNumbers.prefix(kind) + "hand.over",
				"Grants to those who waited for others, or without asking Redis", "kind", way);
	}

	private Counter errors(Command command) {
		return counter("holdfast.store.errors", "Commands to the store that failed or were not answered in time",
				"command", command);
	}

	private Counter counter(String name, String description, String tag, Enum<?> value) {
		return Counter.builder(name)
			.description(description)
			.tag(tag, value.name().toLowerCase(Locale.ROOT))
			.register(this.registry);
	}

	private LeaseNumbers numbers(Kind kind, @Nullable String name) {
		Map<String, LeaseNumbers> byName = (kind == Kind.SEMAPHORE) ? this.semaphores : this.locks;
		return byName.computeIfAbsent((name != null) ? name : "none",
				(tag) -> new LeaseNumbers(this.gauges, kind, tag));
	}

	@Override
	public RequestObserver began(ObservedRequest request, @Nullable Object captured) {
		this.fleet.used(request);
		return numbers(request.kind(), request.name()).began(request);
	}

	@Override
	public void lost(Kind kind, @Nullable String name) {
		numbers(kind, name).lost();
	}

	@Override
	public void renewed(Kind kind, RenewalOutcome outcome) {
		renewals(kind, outcome).increment();
	}

	@Override
	public void handedOver(Kind kind, HandOver way) {
		handOvers(kind, way).increment();
	}

	@Override
	public void failed(Command command) {
		errors(command).increment();
	}

	/**
	 * Remove the gauges from the registry, which may go on to exist. Counters stay.
	 */
	@Override
	public void close() {
		this.gauges.close();
	}

}
