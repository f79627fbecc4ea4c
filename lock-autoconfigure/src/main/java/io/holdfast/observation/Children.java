package io.holdfast.observation;

import java.util.function.Supplier;

import io.micrometer.observation.NullObservation;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;

/**
 * Starts observations as children of what they belong to, on whichever thread that is
 * done. Thread-safe.
 */
final class Children {

	private final ObservationRegistry registry;

	Children(ObservationRegistry registry) {
		this.registry = registry;
	}

	/**
	 * Start an observation.
	 * @param parent what it belongs to, or {@code null} if that is nothing
	 * @param creation makes it
	 * @return the observation
	 */
	Observation start(@Nullable Observation parent, Supplier<Observation> creation) {
		Observation current = this.registry.getCurrentObservation();
		if (current == null || current == parent) {
			return started(parent, creation);
		}
		// This thread does something for somebody else, whose child it must not become,
		// nor must its span.
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
		return created.start();
	}

}
