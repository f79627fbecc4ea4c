package io.holdfast.engine;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.history.Event;
import io.holdfast.history.Event.Type;

/**
 * Check for tokens in the store that their instance no longer knows: a failed request
 * must not block others until a lease ends.
 */
final class Leftovers {

	/** Time for a release, or for two releases if commands overtake each other. */
	private static final long PATIENCE = 200 * Simulation.MILLI;

	private final Simulation simulation;

	private final SimulatedInstance instance;

	private final String key;

	Leftovers(Simulation simulation, SimulatedInstance instance, String key) {
		this.simulation = simulation;
		this.instance = instance;
		this.key = key;
	}

	/** Check a key now and after a while. */
	void check() {
		check(this.simulation.now(), 0);
	}

	/**
	 * Check a key after a late command has arrived, which is no excuse for leftovers.
	 */
	void checkAfterLateCommand() {
		long since = this.simulation.now() + Simulation.SLACK + 1;
		// The release follows a claim later, and the loss margin lengthens the claim.
		check(since, this.simulation.plan.longestMargin() * Simulation.MILLI);
	}

	private void check(long since, long margin) {
		Map<String, Kind> now = unknown();
		if (!now.isEmpty()) {
			this.simulation.time.at(PATIENCE + margin, () -> {
				if (!this.instance.crashed) {
					Map<String, Kind> later = unknown();
					later.keySet().retainAll(now.keySet());
					later.values().forEach((kind) -> record(kind, since));
				}
			});
		}
	}

	private void record(Kind kind, long since) {
		this.simulation.record(Event.of(this.simulation.now(), Type.FORGOTTEN, this.instance.name)
			.of(SimulatedStore.mode(new Resource(kind, this.key), 1), this.key)
			.until(since));
	}

	private Map<String, Kind> unknown() {
		Map<String, Kind> unknown = new LinkedHashMap<>();
		for (Kind kind : Kind.values()) {
			for (String token : tokens(new Resource(kind, this.key))) {
				LeaseEngine engine = this.instance.engine;
				if (engine.context.isOwn(token) && engine.queues.ofPlace(token) == null
						&& engine.queues.renewer.find(token) == null && !engine.queues.releases.isRetained(token)
						&& !this.instance.broughtBack.contains(token)) {
					unknown.put(token, kind);
				}
			}
		}
		return unknown;
	}

	private List<String> tokens(Resource resource) {
		return SimulatedStore.holders(this.simulation.operator, resource);
	}

}
