package io.holdfast.observation;

import io.micrometer.observation.NullObservation;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;

/**
 * Starts observations with a given parent on any thread. Thread-safe.
 *
 * @param registry the registry of observations, and of the users' conventions
 */
record ObservationFactory(ObservationRegistry registry) {

	/**
	 * Start an observation.
	 * @param <T> the type of the context
	 * @param context the context
	 * @param convention the default convention
	 * @param parent the parent, or {@code null} for none
	 * @param onRequestingThread whether the current thread is the requesting thread
	 * @return the observation
	 */
	<T extends Observation.Context> Observation start(T context, ObservationConvention<T> convention,
			@Nullable Observation parent, boolean onRequestingThread) {
		if (onRequestingThread && this.registry.getCurrentObservation() == parent) {
			return start(context, convention, parent);
		}
		// The thread works for another request: the observation must not become a child
		// of that request's observation or span.
		Observation.Scope scope = ((parent != null) ? parent : new NullObservation(this.registry)).openScope();
		try {
			return start(context, convention, parent);
		}
		finally {
			scope.close();
		}
	}

	private <T extends Observation.Context> Observation start(T context, ObservationConvention<T> convention,
			@Nullable Observation parent) {
		Observation created = Observation.createNotStarted(null, convention, () -> context, this.registry)
			.parentObservation(parent);
		try {
			return created.start();
		}
		catch (RuntimeException | Error ex) {
			// Some handlers may have started the observation: stop it, as nothing else
			// will.
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
