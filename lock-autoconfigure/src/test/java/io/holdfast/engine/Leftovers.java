package io.holdfast.engine;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.history.Event;
import io.holdfast.history.Event.Type;

/**
 * Looks for what the store keeps for an instance that knows nothing of it any more: who
 * was refused must not keep others waiting until a lease ends.
 */
final class Leftovers {

	/** How long a release may take, or two where commands overtake each other. */
	private static final long PATIENCE = 200 * Simulation.MILLI;

	private final Simulation simulation;

	private final SimulatedInstance instance;

	private final String key;

	Leftovers(Simulation simulation, SimulatedInstance instance, String key) {
		this.simulation = simulation;
		this.instance = instance;
		this.key = key;
	}

	/** Look for what is left of a key now, and after a while. */
	void look() {
		look(this.simulation.now(), 0);
	}

	/**
	 * Look in the same way when a command has come that was under way for long, which is
	 * no excuse.
	 */
	void lookAfterStraggler() {
		long since = this.simulation.now() + Simulation.SLACK + 1;
		// The release that ends it comes a claim later, which is longer by the margin.
		look(since, this.simulation.plan.longestMargin() * Simulation.MILLI);
	}

	private void look(long since, long margin) {
		Map<String, Kind> now = unknown();
		if (!now.isEmpty()) {
			this.simulation.time.at(PATIENCE + margin, () -> {
				if (!this.instance.crashed) {
					Map<String, Kind> later = unknown();
					later.keySet().retainAll(now.keySet());
					later.values().forEach((kind) -> tell(kind, since));
				}
			});
		}
	}

	private void tell(Kind kind, long since) {
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
