package io.holdfast.fleet;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Simultaneously held permits, as seen by their holders, over all threads and processes.
 */
final class Overlaps {

	private Overlaps() {
	}

	/**
	 * Return the most permits that were held at the same moment.
	 * @param holds all holds of a key
	 */
	static long highest(Collection<Hold> holds) {
		return sweep(holds, Long.MAX_VALUE);
	}

	/**
	 * Check that the limit was never exceeded.
	 * @param holds all holds of a key
	 * @param limit its limit
	 * @return the most permits that were held at the same moment
	 */
	static long assertWithin(Collection<Hold> holds, long limit) {
		return sweep(holds, limit);
	}

	/**
	 * Check each start of a hold, with all holds that overlap it.
	 */
	private static long sweep(Collection<Hold> holds, long limit) {
		List<Hold> inOrder = holds.stream().sorted(Comparator.comparingLong(Hold::from)).toList();
		List<Hold> lasting = new ArrayList<>();
		long highest = 0;
		for (Hold next : inOrder) {
			// A release and a grant in the same nanosecond follow each other.
			lasting.removeIf((hold) -> hold.until() <= next.from());
			lasting.add(next);
			long permits = lasting.stream().mapToLong(Hold::permits).sum();
			assertThat(permits).as("permits that were held together: %s", lasting).isLessThanOrEqualTo(limit);
			highest = Math.max(highest, permits);
		}
		return highest;
	}

}
