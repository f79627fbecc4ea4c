package io.holdfast.observation;

import java.util.function.Supplier;

import io.micrometer.observation.NullObservation;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;

/**
 * Starts observations as children of others, on any thread. Thread-safe.
 */
final class Children {

	private final ObservationRegistry registry;

	Children(ObservationRegistry registry) {
		this.registry = registry;
	}

	/**
	 * Start an observation.
	 * @param parent the parent, or {@code null} for none
	 * @param own whether this thread does it for itself: if it observes the parent, then
	 * also within the scope of a tracer
	 * @param creation makes it
	 * @return the observation
	 */
	Observation start(@Nullable Observation parent, boolean own, Supplier<Observation> creation) {
		if (own && this.registry.getCurrentObservation() == parent) {
			return started(parent, creation);
		}
		// This thread works for another request, whose child it must not become,
		// nor must its span, which need not have an observation.
		Observation.Scope scope = ((parent != null) ? parent : new NullObservation(this.registry)).openScope();
		try {
			return started(parent, creation);
		}
		finally {
			scope.close();
		}
	}

	private static Observation started(@Nullable Observation parent, Supplier<Observation> creation) {
		Observation created = creation.get();
		if (!created.isNoop()) {
			created.getContext().setParentObservation(parent);
		}
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
