package io.holdfast.history;

import java.util.HashMap;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import io.holdfast.history.Event.Type;

/**
 * Faults and observations of a history that belong to no single request.
 */
final class Troubles {

	private final Map<Type, List<Event>> events = new HashMap<>();

	private final Map<String, Long> crashes = new HashMap<>();

	private long lastAt = Long.MIN_VALUE;

	/** Note the time of any event. */
	void passed(Event event) {
		this.lastAt = Math.max(this.lastAt, event.at());
	}

	void add(Event event) {
		if (event.type() == Type.CRASHED) {
			this.crashes.putIfAbsent(event.by(), event.at());
		}
		this.events.computeIfAbsent(event.type(), (k) -> new ArrayList<>()).add(event);
	}

	/** When the history ends. */
	long lastAt() {
		return this.lastAt;
	}

	/** Return all events of a kind, in their order. */
	List<Event> all(Type type) {
		return this.events.getOrDefault(type, List.of());
	}

	boolean isAny(Type... types) {
		return Stream.of(types).anyMatch(this.events::containsKey);
	}

	/** Return the time of an instance's death; {@link Request#NEVER} without a death. */
	long crashOf(String instance) {
		return this.crashes.getOrDefault(instance, Request.NEVER);
	}

	/** Return whether an event overlaps a period of an instance. */
	boolean happened(Type type, String by, long from, long until) {
		return all(type).stream()
			.anyMatch((event) -> event.by().equals(by) && event.at() <= until
					&& Math.max(event.at(), event.until()) >= from);
	}

	/** Return whether an instance stood still, or had trouble, in a period. */
	boolean isTroubled(String by, long from, long until) {
		return Stream.of(Type.TROUBLE, Type.OUTAGE, Type.PAUSED)
			.anyMatch((trouble) -> happened(trouble, by, from, until));
	}

	/** Return how long an instance stood still in a period. */
	long pausedFor(String by, long from, long until) {
		long paused = 0;
		for (Event pause : all(Type.PAUSED)) {
			if (pause.by().equals(by)) {
				paused += Math.max(0, Math.min(until, pause.until()) - Math.max(from, pause.at()));
			}
		}
		return paused;
	}

}
