package io.holdfast.observation;

import java.util.List;
import java.util.stream.Stream;

import io.holdfast.engine.EngineObserver;
import io.holdfast.engine.ObservedRequest;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;

/**
 * Observes each request and then its lease. Both observations are children of the
 * requesting thread's observation. Thread-safe.
 */
public final class LeaseObservations implements EngineObserver {

	private final ObservationRegistry registry;

	private final ObservationFactory observations;

	/** Default conventions by kind of observation. */
	private final LeaseObservationConvention[] defaults;

	/**
	 * Create the observer.
	 * @param registry the registry of observations, and of the users' conventions; the
	 * first that supports a context replaces the default convention
	 */
	public LeaseObservations(ObservationRegistry registry) {
		this.registry = registry;
		this.observations = new ObservationFactory(registry);
		this.defaults = Stream.of(HoldfastObservationDocumentation.values())
			.map(DefaultLeaseObservationConvention::new)
			.toArray(LeaseObservationConvention[]::new);
	}

	@Override
	public @Nullable RequestObserver requested(ObservedRequest request) {
		return this.registry.isNoop() ? null : new ObservedLease(request);
	}

	/**
	 * Observer of one request and its lease.
	 */
	private final class ObservedLease implements RequestObserver {

		private final ObservedRequest request;

		/** Id of the requesting thread. */
		private final long thread = Thread.currentThread().getId();

		private final @Nullable Observation parent = LeaseObservations.this.registry.getCurrentObservation();

		/** Observation of the request, and after the grant of its lease. */
		private Observation observation = Observation.NOOP;

		private List<Long> fences = List.of();

		ObservedLease(ObservedRequest request) {
			this.request = request;
		}

		private void start(HoldfastObservationDocumentation observed, boolean own) {
			// The previous observation is over, and the new one may fail to start.
			this.observation = Observation.NOOP;
			this.observation = LeaseObservations.this.observations.start(
					new LeaseObservationContext(observed, this.request, this.fences),
					LeaseObservations.this.defaults[observed.ordinal()], this.parent, own);
		}

		private void settle(LeaseOutcome outcome) {
			if (this.observation.getContext() instanceof LeaseObservationContext context) {
				context.settle(outcome, this.fences);
			}
		}

		@Override
		public void began() {
			start(HoldfastObservationDocumentation.acquire(this.request.kind()),
					this.thread == Thread.currentThread().getId());
		}

		@Override
		public void granted(List<Long> fences) {
			this.fences = fences;
			settle(LeaseOutcome.GRANTED);
			try {
				this.observation.stop();
			}
			finally {
				start(HoldfastObservationDocumentation.hold(this.request.kind()), false);
			}
		}

		@Override
		public void failed(RuntimeException why) {
			LeaseOutcome outcome = LeaseOutcome.of(why, this.request.optional());
			settle(outcome);
			if (outcome.isError()) {
				this.observation.error(why);
			}
			this.observation.stop();
		}

		@Override
		public void ended(HoldEnd end) {
			settle(LeaseOutcome.of(end));
			this.observation.stop();
		}

	}

}
