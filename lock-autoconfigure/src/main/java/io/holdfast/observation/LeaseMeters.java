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
 * Counts events in engines: current holds and waits, losses, renewals, hand-overs and
 * failed commands. No tag has more values than there are names of requests. Thread-safe.
 *
 * @since 0.1.0
 */
public final class LeaseMeters implements EngineObserver, AutoCloseable {

	/**
	 * The gauges of each registry that belong to an observer. Where several observers
	 * have one registry, the first has the gauge of a name. Guarded by itself.
	 */
	private static final Map<MeterRegistry, Set<Meter.Id>> taken = new WeakHashMap<>();

	private final MeterRegistry registry;

	/** The gauges of this observer. Guarded by this. */
	private final List<Gauge> gauges = new ArrayList<>();

	/** Guarded by this. */
	private boolean closed;

	private final Map<String, Numbers> locks = new ConcurrentHashMap<>();

	private final Map<String, Numbers> semaphores = new ConcurrentHashMap<>();

	private final Map<String, FleetPermits> fleet = new ConcurrentHashMap<>();

	/**
	 * Create the observer.
	 * @param registry where the meters go
	 */
	public LeaseMeters(MeterRegistry registry) {
		this.registry = registry;
		// All possible ones, from the beginning: the rise of a missing meter is not seen.
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
		return counter(prefix(kind) + "hand.over", "Grants to those who waited for others, or without asking Redis",
				"kind", way);
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
		synchronized (taken) {
			Gauge known = gauge.register(this.registry);
			// That of another observer is given back, too: it is not to go with this one.
			if (taken.computeIfAbsent(this.registry, (k) -> new HashSet<>()).add(known.getId())) {
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
	 * Show the permits of the whole fleet, of semaphores whose key is their name: that is
	 * bounded as names are, and evaluated keys and namespaces are not.
	 */
	private void showFleet(ObservedRequest request) {
		String name = request.name();
		if (request.kind() == Kind.SEMAPHORE && name != null && request.keys().get(0).equals(name)) {
			this.fleet.computeIfAbsent(name, (key) -> {
				FleetPermits permits = new FleetPermits(request.engine(), key, this.registry.config().clock());
				register(Gauge.builder("holdfast.semaphore.permits.used", permits, FleetPermits::used)
					.description("Permits that are held, in the whole fleet, where the key is the name")
					.tag("name", key));
				register(Gauge.builder("holdfast.semaphore.permits.limit", permits, FleetPermits::limit)
					.description("Permits that there are, for the whole fleet, where the key is the name")
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
	 * Remove the gauges from the registry, which may go on to exist: one that stayed
	 * would keep the place from the next that has its name, and have no value. Counters
	 * stay.
	 */
	@Override
	public synchronized void close() {
		this.closed = true;
		synchronized (taken) {
			for (Gauge gauge : this.gauges) {
				this.registry.remove(gauge);
				taken.getOrDefault(this.registry, Set.of()).remove(gauge.getId());
			}
		}
		this.gauges.clear();
	}

	/** Meters of the holds, waits and losses of one name. */
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

	/** One request. */
	private final class CountedRequest implements RequestObserver {

		private final ObservedRequest request;

		CountedRequest(ObservedRequest request) {
			this.request = request;
		}

		private Numbers numbers() {
			return LeaseMeters.this.numbers(this.request.kind(), this.request.name());
		}

		/** Return how much it counts while it is held. */
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
