package io.holdfast.observation.meter;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.engine.EngineObserver.HoldEnd;
import io.holdfast.engine.EngineObserver.RequestObserver;
import io.holdfast.engine.ObservedRequest;
import io.holdfast.engine.store.Resource.Kind;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;

/**
 * Meters of the holds, waits and losses of one name. Thread-safe.
 */
final class LeaseNumbers {

	private final AtomicInteger waiting = new AtomicInteger();

	private final AtomicInteger held = new AtomicInteger();

	private final Counter lost;

	LeaseNumbers(Gauges gauges, Kind kind, String name) {
		String prefix = prefix(kind);
		boolean semaphore = kind == Kind.SEMAPHORE;
		gauges.register(Gauge.builder(prefix + "waiting", this.waiting, AtomicInteger::get)
			.description("Requests of this instance that are not answered yet")
			.tag("name", name));
		gauges.register(Gauge.builder(prefix + "held", this.held, AtomicInteger::get)
			.description(semaphore ? "Permits that this instance holds" : "Leases of locks that this instance holds")
			.tag("name", name));
		this.lost = Counter.builder(prefix + "lost")
			.description("Leases that were lost, or over before they were released")
			.tag("name", name)
			.register(gauges.registry);
	}

	/** Return the prefix of the names of the meters of a kind. */
	static String prefix(Kind kind) {
		return (kind == Kind.SEMAPHORE) ? "holdfast.semaphore." : "holdfast.lock.";
	}

	void lost() {
		this.lost.increment();
	}

	RequestObserver began(ObservedRequest request) {
		this.waiting.incrementAndGet();
		return new Counted(Math.max(1, request.permits()));
	}

	/**
	 * One request. Told by one thread at a time.
	 */
	private final class Counted implements RequestObserver {

		/** How much it counts while it is held. */
		private final int amount;

		Counted(int amount) {
			this.amount = amount;
		}

		@Override
		public void granted(List<Long> fences) {
			LeaseNumbers.this.waiting.decrementAndGet();
			LeaseNumbers.this.held.addAndGet(this.amount);
		}

		@Override
		public void failed(RuntimeException why) {
			LeaseNumbers.this.waiting.decrementAndGet();
		}

		@Override
		public void ended(HoldEnd end) {
			LeaseNumbers.this.held.addAndGet(-this.amount);
		}

	}

}
