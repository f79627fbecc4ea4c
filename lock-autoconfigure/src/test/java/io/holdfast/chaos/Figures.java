package io.holdfast.chaos;

import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import io.holdfast.history.Event;

/**
 * Totals of all rounds.
 */
final class Figures {

	private int rounds;

	private long asked;

	private long granted;

	private long passedOn;

	private final Map<String, Long> refused = new TreeMap<>();

	private long lost;

	private long killed;

	private final Map<Fault.Kind, Long> faults = new EnumMap<>(Fault.Kind.class);

	private long violations;

	private long withoutGrant;

	void add(List<Event> history, Collection<Fault> faults, int violations) {
		this.rounds++;
		this.violations += violations;
		faults.forEach((fault) -> this.faults.merge(fault.kind(), 1L, Long::sum));
		long before = Long.MAX_VALUE;
		for (Event event : (Iterable<Event>) inOrder(history)::iterator) {
			switch (event.type()) {
				case ASKED -> this.asked++;
				case GRANTED -> {
					this.granted++;
					this.withoutGrant = Math.max(this.withoutGrant, event.at() - Math.min(before, event.at()));
					before = event.at();
				}
				case PASSED_ON -> this.passedOn++;
				case REFUSED -> this.refused.merge(event.why(), 1L, Long::sum);
				case LOST -> this.lost++;
				case CRASHED -> this.killed++;
				default -> {
					// Not counted.
				}
			}
		}
	}

	private static Stream<Event> inOrder(List<Event> history) {
		return history.stream().sorted((left, right) -> Long.compare(left.at(), right.at()));
	}

	/** How many leases were granted. */
	long granted() {
		return this.granted;
	}

	/** Number of leases from a local hand-over. */
	long passedOn() {
		return this.passedOn;
	}

	/** Number of faults of a kind. */
	long faults(Fault.Kind kind) {
		return this.faults.getOrDefault(kind, 0L);
	}

	@Override
	public String toString() {
		return """
				rounds               %d
				asked                %d
				granted              %d, of which passed on within an instance %d
				refused              %s
				lost                 %d
				killed               %d
				faults               %d %s
				violations           %d
				longest without any grant, in ms: %d
				""".formatted(this.rounds, this.asked, this.granted, this.passedOn, this.refused, this.lost,
				this.killed, this.faults.values().stream().mapToLong(Long::longValue).sum(), this.faults,
				this.violations, TimeUnit.NANOSECONDS.toMillis(this.withoutGrant));
	}

}
