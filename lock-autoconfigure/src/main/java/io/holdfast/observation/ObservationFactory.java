package io.holdfast.observation;

import java.util.List;

import io.micrometer.observation.NullObservation;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;

/**
 * Starts observations as children of others, on any thread. Thread-safe.
 *
 * @param <T> the contexts of the observations
 */
final class ObservationFactory<T extends Observation.Context> {

	private final ObservationRegistry registry;

	private final List<? extends ObservationConvention<T>> conventions;

	/**
	 * Create the factory.
	 * @param registry where observations go
	 * @param conventions the first of them that supports a context comes before the
	 * default
	 */
	ObservationFactory(ObservationRegistry registry, List<? extends ObservationConvention<T>> conventions) {
		this.registry = registry;
		this.conventions = List.copyOf(conventions);
	}

	/**
	 * Start an observation.
	 * @param context the context
	 * @param convention the default convention
	 * @param parent the parent, or {@code null} for none
	 * @param own whether this thread does it for itself: if it observes the parent, then
	 * also within the scope of a tracer
	 * @return the observation
	 */
	Observation start(T context, ObservationConvention<T> convention, @Nullable Observation parent, boolean own) {
		if (own && this.registry.getCurrentObservation() == parent) {
			return start(context, convention, parent);
		}
		// This thread works for another request, whose child it must not become,
		// nor must its span, which need not have an observation.
		Observation.Scope scope = ((parent != null) ? parent : new NullObservation(this.registry)).openScope();
		try {
			return start(context, convention, parent);
		}
		finally {
			scope.close();
		}
	}

	private Observation start(T context, ObservationConvention<T> convention, @Nullable Observation parent) {
		Observation created = Observation
			.createNotStarted(GuardedConvention.find(this.conventions, context, convention), convention, () -> context,
					this.registry)
			.parentObservation(parent);
		try {
			return created.start();
		}
		catch (RuntimeException | Error ex) {
			// Some handlers may have started it, and nothing else could ever stop it.
			try {
				created.stop();
			}
			catch (RuntimeException | Error again) {
				ex.addSuppressed(again);
			}
			throw ex;
		}
	}

}
