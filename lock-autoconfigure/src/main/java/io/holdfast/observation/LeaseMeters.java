package io.holdfast.observation;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.engine.EngineObserver;
import io.holdfast.engine.ObservedRequest;
import io.holdfast.engine.store.Resource.Kind;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import org.jspecify.annotations.Nullable;

/**
 * Meters of engines: current holds and waits, losses, renewals, hand-overs and failed
 * commands. Tags have at most as many values as requests have names. Thread-safe.
 *
 * @since 0.1.0
 */
public final class LeaseMeters implements EngineObserver, AutoCloseable {

	/**
	 * Gauges that belong to an observer, by registry. If several observers share a
	 * registry, the first observer owns the gauge of a name. Guarded by itself.
	 */
	private static final Map<MeterRegistry, Set<Meter.Id>> ownedGauges = new WeakHashMap<>();

	private final MeterRegistry registry;

	/** Gauges of this observer. Guarded by this. */
	private final List<Gauge> gauges = new ArrayList<>();

	/** Guarded by this. */
	private boolean closed;

	private final Map<String, Numbers> locks = new ConcurrentHashMap<>();

	private final Map<String, Numbers> semaphores = new ConcurrentHashMap<>();

	private final Map<String, FleetPermits> fleet = new ConcurrentHashMap<>();

	/**
	 * Create the observer.
	 * @param registry the registry of the meters
	 */
	public LeaseMeters(MeterRegistry registry) {
		this.registry = registry;
		// Register all counters now: alerts do not see the first increment of a new
		// counter.
		for (Kind kind : Kind.values()) {
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
		return counter(prefix(kind) + "renewal", "Renewals of leases", "outcome", outcome);
	}

	private Counter handOvers(Kind kind, HandOver way) {
		return counter(prefix(kind) + "hand.over", "Grants to waiters, by the kind of hand-over", "kind", way);
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

	private static String prefix(Kind kind) {
		return (kind == Kind.SEMAPHORE) ? "holdfast.semaphore." : "holdfast.lock.";
	}

	private synchronized void register(Gauge.Builder<?> gauge) {
		if (this.closed) {
			return;
		}
		synchronized (ownedGauges) {
			Gauge known = gauge.register(this.registry);
			// The gauge may belong to another observer: close() of this observer must not
			// remove it.
			if (ownedGauges.computeIfAbsent(this.registry, (k) -> new HashSet<>()).add(known.getId())) {
				this.gauges.add(known);
			}
		}
	}

	private Numbers numbers(Kind kind, @Nullable String name) {
		Map<String, Numbers> byName = (kind == Kind.SEMAPHORE) ? this.semaphores : this.locks;
		String tag = (name != null) ? name : "none";
		Numbers known = byName.get(tag);
		return (known != null) ? known : byName.computeIfAbsent(tag, (first) -> new Numbers(kind, first));
	}

	/**
	 * Register gauges for the permits of all instances. Only for semaphores whose key is
	 * their name, because evaluated keys and namespaces may have an unlimited number of
	 * values.
	 */
	private void showFleet(ObservedRequest request) {
		String name = request.name();
		if (request.kind() == Kind.SEMAPHORE && name != null && request.keys().get(0).equals(name)) {
			this.fleet.computeIfAbsent(name, (key) -> {
				FleetPermits permits = new FleetPermits(request.engine(), key, this.registry.config().clock());
				register(Gauge.builder("holdfast.semaphore.permits.used", permits, FleetPermits::used)
					.description("Used permits in all instances, of semaphores whose key is their name")
					.tag("name", key));
				register(Gauge.builder("holdfast.semaphore.permits.limit", permits, FleetPermits::limit)
					.description("Limit for all instances, of semaphores whose key is their name")
					.tag("name", key));
				return permits;
			});
		}
	}

	@Override
	public RequestObserver requested(ObservedRequest request) {
		return new CountedRequest(request);
	}

	@Override
	public void lost(Kind kind, @Nullable String name) {
		numbers(kind, name).lost.increment();
	}

	@Override
	public void renewed(Kind kind, RenewalOutcome outcome) {
		renewals(kind, outcome).increment();
	}

	@Override
	public void failed(Command command) {
		errors(command).increment();
	}

	/**
	 * Remove the gauges from the registry, which may outlive this observer. A remaining
	 * gauge would have no value, and would block a later gauge of the same name. Counters
	 * stay.
	 */
	@Override
	public synchronized void close() {
		this.closed = true;
		synchronized (ownedGauges) {
			for (Gauge gauge : this.gauges) {
				this.registry.remove(gauge);
				ownedGauges.getOrDefault(this.registry, Set.of()).remove(gauge.getId());
			}
		}
		this.gauges.clear();
	}

	/** Meters of holds, waits and losses with one name. */
	private final class Numbers {

		private final AtomicInteger waiting = new AtomicInteger();

		private final AtomicInteger held = new AtomicInteger();

		private final Counter lost;

		Numbers(Kind kind, String name) {
			String prefix = prefix(kind);
			register(Gauge.builder(prefix + "waiting", this.waiting, AtomicInteger::get)
				.description("Requests of this instance that are not answered yet")
				.tag("name", name));
			register(Gauge.builder(prefix + "held", this.held, AtomicInteger::get)
				.description((kind == Kind.SEMAPHORE) ? "Permits that this instance holds"
						: "Leases of locks that this instance holds")
				.tag("name", name));
			this.lost = Counter.builder(prefix + "lost")
				.description("Leases that were lost, or over before they were released")
				.tag("name", name)
				.register(LeaseMeters.this.registry);
		}

	}

	/** Observer of one request. */
	private final class CountedRequest implements RequestObserver {

		private final ObservedRequest request;

		CountedRequest(ObservedRequest request) {
			this.request = request;
		}

		private Numbers numbers() {
			return LeaseMeters.this.numbers(this.request.kind(), this.request.name());
		}

		/** Return the number of permits, or 1 for a lock. */
		private int amount() {
			return Math.max(1, this.request.permits());
		}

		@Override
		public void began() {
			showFleet(this.request);
			numbers().waiting.incrementAndGet();
		}

		@Override
		public void handedOver(HandOver way) {
			handOvers(this.request.kind(), way).increment();
		}

		@Override
		public void granted(List<Long> fences) {
			numbers().waiting.decrementAndGet();
			numbers().held.addAndGet(amount());
		}

		@Override
		public void failed(RuntimeException why) {
			numbers().waiting.decrementAndGet();
		}

		@Override
		public void ended(HoldEnd end) {
			numbers().held.addAndGet(-amount());
		}

	}

}
