package io.holdfast.engine;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * The actions to run if a hold is lost, each for one of its leases. Thread-safe.
 */
final class LossActions {

	private @Nullable Map<LeaseTerms, List<Runnable>> actions;

	synchronized void add(LeaseTerms lease, Runnable action) {
		if (this.actions == null) {
			this.actions = new LinkedHashMap<>(2);
		}
		this.actions.computeIfAbsent(lease, (k) -> new ArrayList<>(1)).add(action);
	}

	/** Forget the actions of a lease: a hold may have many leases, and last for days. */
	synchronized void forget(LeaseTerms lease) {
		if (this.actions != null) {
			this.actions.remove(lease);
		}
	}

	/** Return all actions, which are kept no longer. */
	synchronized List<Runnable> take() {
		Map<LeaseTerms, List<Runnable>> taken = (this.actions != null) ? this.actions : Map.of();
		this.actions = null;
		return taken.values().stream().flatMap(List::stream).toList();
	}

}
