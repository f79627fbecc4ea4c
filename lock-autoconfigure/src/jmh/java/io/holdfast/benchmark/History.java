package io.holdfast.benchmark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * The turns of all threads of all JVMs that wanted the same, by time.
 */
final class History {

	private final List<Outcome> outcomes;

	private final List<Turn> turns = new ArrayList<>();

	History(List<Outcome> outcomes) {
		this.outcomes = outcomes;
		for (int jvm = 0; jvm < outcomes.size(); jvm++) {
			for (Turns thread : outcomes.get(jvm).threads()) {
				for (int i = 0; i < thread.size(); i++) {
					this.turns.add(new Turn(jvm, thread.asked(i), thread.acquired(i), thread.releasing(i),
							thread.released(i)));
				}
			}
		}
		this.turns.sort(Comparator.comparingLong(Turn::acquired));
	}

	/** Turns that ended in a time. */
	long endedIn(long from, long to) {
		return this.turns.stream().filter((turn) -> turn.released - from >= 0 && turn.released - to <= 0).count();
	}

	/** How long whole cycles took, from asking until all was released: a quantile. */
	double cycleMicros(long from, double quantile) {
		return micros(this.turns.stream()
			.filter((turn) -> turn.acquired - from >= 0)
			.mapToLong((turn) -> turn.released - turn.asked), quantile);
	}

	/**
	 * From when one began to release until the next one had it, in another JVM or in the
	 * same one.
	 */
	double handOffMicros(boolean remote, double quantile) {
		long[] times = new long[this.turns.size()];
		int count = 0;
		for (int i = 1; i < this.turns.size(); i++) {
			Turn last = this.turns.get(i - 1);
			Turn next = this.turns.get(i);
			if (remote == (last.jvm != next.jvm) && next.asked - last.releasing < 0) {
				times[count++] = next.acquired - last.releasing;
			}
		}
		return micros(Arrays.stream(times, 0, count), quantile);
	}

	private static double micros(java.util.stream.LongStream nanos, double quantile) {
		long[] sorted = nanos.sorted().toArray();
		if (sorted.length == 0) {
			return Double.NaN;
		}
		return sorted[(int) Math.min(sorted.length - 1, sorted.length * quantile)] / 1000.0;
	}

	/** How many were inside at the same time, at most. */
	int mostInside() {
		long[] ends = this.turns.stream().mapToLong(Turn::releasing).sorted().toArray();
		int most = 0;
		int ended = 0;
		for (int begun = 1; begun <= this.turns.size(); begun++) {
			while (ends[ended] - this.turns.get(begun - 1).acquired <= 0 && ended < begun - 1) {
				ended++;
			}
			most = Math.max(most, begun - ended);
		}
		return most;
	}

	long lastReleased() {
		return this.turns.stream().mapToLong(Turn::released).max().orElseThrow();
	}

	long firstAcquired() {
		return this.turns.get(0).acquired;
	}

	/** The turns of the thread that had fewest, for one of the one that had most. */
	double leastOfMost() {
		long[] totals = this.outcomes.stream()
			.flatMap((outcome) -> outcome.threads().stream())
			.mapToLong(Turns::total)
			.sorted()
			.toArray();
		return (double) totals[0] / totals[totals.length - 1];
	}

	/** The share of the JVM that had fewest turns, for one of a fair share. */
	double leastShare() {
		long all = this.outcomes.stream().mapToLong(Outcome::total).sum();
		long least = this.outcomes.stream().mapToLong(Outcome::total).min().orElseThrow();
		return (double) least * this.outcomes.size() / all;
	}

	private record Turn(int jvm, long asked, long acquired, long releasing, long released) {
	}

}
