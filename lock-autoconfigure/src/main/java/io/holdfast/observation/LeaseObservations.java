package io.holdfast.observation;

import java.util.List;
import java.util.stream.Stream;

import io.holdfast.engine.EngineObserver;
import io.holdfast.engine.ObservedRequest;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;

/**
 * Has each request, and then its lease, observed: side by side, as children of the
 * observation of the thread that asked. Thread-safe.
 */
public final class LeaseObservations implements EngineObserver {

	private final ObservationRegistry registry;

	private final Children children;

	private final List<LeaseObservationConvention> conventions;

	/** For each of the observations. */
	private final LeaseObservationConvention[] defaults;

	/**
	 * Create the observer.
	 * @param registry where observations go
	 * @param conventions how they are named and tagged: the first of them that supports a
	 * context; the default, if none does
	 */
	public LeaseObservations(ObservationRegistry registry, List<LeaseObservationConvention> conventions) {
		this.registry = registry;
		this.children = new Children(registry);
		this.conventions = List.copyOf(conventions);
		this.defaults = Stream.of(HoldfastObservationDocumentation.values())
			.map(DefaultLeaseObservationConvention::new)
			.toArray(LeaseObservationConvention[]::new);
	}

	@Override
	public Object capture() {
		return new Asking(Thread.currentThread().getId(), this.registry.getCurrentObservation());
	}

	@Override
	public @Nullable RequestObserver began(ObservedRequest request, @Nullable Object captured) {
		return this.registry.isNoop() ? null : new ObservedLease(request, (Asking) captured);
	}

	private Observation start(LeaseObservationContext context, @Nullable Observation parent, boolean own) {
		LeaseObservationConvention convention = this.conventions.stream()
			.filter((candidate) -> GuardedConvention.supports(candidate, context))
			.findFirst()
			.orElse(null);
		LeaseObservationConvention fallback = this.defaults[context.getObserved().ordinal()];
		return this.children.start(parent, own, () -> Observation
			.createNotStarted(GuardedConvention.of(convention, fallback), fallback, () -> context, this.registry));
	}

	/**
	 * A thread that asks for something.
	 *
	 * @param thread its id
	 * @param observation the observation until then
	 */
	private record Asking(long thread, @Nullable Observation observation) {
	}

	/**
	 * One request, and its lease.
	 */
	private final class ObservedLease implements RequestObserver {

		private final ObservedRequest request;

		private final @Nullable Observation parent;

		private final LeaseObservationContext acquiring;

		private final Observation acquire;

		private @Nullable LeaseObservationContext holding;

		private @Nullable Observation hold;

		ObservedLease(ObservedRequest request, @Nullable Asking asking) {
			this.request = request;
			this.parent = (asking != null) ? asking.observation() : null;
			this.acquiring = new LeaseObservationContext(HoldfastObservationDocumentation.acquire(request.kind()),
					request, List.of());
			this.acquire = start(this.acquiring, this.parent,
					asking != null && asking.thread() == Thread.currentThread().getId());
		}

		@Override
		public void granted(List<Long> fences) {
			this.acquiring.granted(fences);
			this.holding = new LeaseObservationContext(HoldfastObservationDocumentation.hold(this.request.kind()),
					this.request, fences);
			try {
				this.acquire.stop();
			}
			finally {
				this.hold = start(this.holding, this.parent, false);
			}
		}

		@Override
		public void failed(RuntimeException why) {
			LeaseOutcome outcome = LeaseOutcome.of(why, this.request.optional());
			this.acquiring.ended(outcome);
			if (outcome.isError()) {
				this.acquire.error(why);
			}
			this.acquire.stop();
		}

		@Override
		public void ended(HoldEnd end) {
			if (this.holding != null && this.hold != null) {
				this.holding.ended(LeaseOutcome.of(end));
				this.hold.stop();
			}
		}

	}

}
