package io.holdfast.fleet;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.function.LongBinaryOperator;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * How many permits were held at the same moment, as their holders saw it, of whichever
 * threads and processes they were.
 */
final class Overlaps {

	private Overlaps() {
	}

	/**
	 * The most permits that were held at one moment.
	 * @param holds all holds of one key
	 */
	static long highest(Collection<Hold> holds) {
		return sweep(holds, (from, until) -> Long.MAX_VALUE);
	}

	/**
	 * Check that there were never more than the limit.
	 * @param holds all holds of one key
	 * @param limit its limit
	 * @return the most permits that were held at one moment
	 */
	static long assertWithin(Collection<Hold> holds, long limit) {
		return sweep(holds, (from, until) -> limit);
	}

	/**
	 * Check that there were never more than the limits allowed. A request that is granted
	 * permits beside others must fit into the limit at that moment; that it is lowered
	 * later revokes nothing.
	 * @param holds all holds of one key
	 * @param limits its limits
	 * @return the most permits that were held at one moment
	 */
	static long assertWithin(Collection<Hold> holds, Limits limits) {
		return sweep(holds, limits::highest);
	}

	/**
	 * Look at every begin of a hold, beside all others that last then. Of these holds one
	 * was granted last, with the permits of all others in use. That was after the last of
	 * them was asked for, and before the last of them began: the limit is taken between
	 * these times.
	 */
	private static long sweep(Collection<Hold> holds, LongBinaryOperator limit) {
		List<Hold> inOrder = holds.stream().sorted(Comparator.comparingLong(Hold::from)).toList();
		List<Hold> lasting = new ArrayList<>();
		long highest = 0;
		for (Hold next : inOrder) {
			// A release and a grant in the same nanosecond are one after the other.
			lasting.removeIf((hold) -> hold.until() <= next.from());
			lasting.add(next);
			long permits = lasting.stream().mapToLong(Hold::permits).sum();
			long lastAsked = lasting.stream().mapToLong(Hold::asked).max().orElseThrow();
			assertThat(permits).as("permits that were held together: %s", lasting)
				.isLessThanOrEqualTo(limit.applyAsLong(lastAsked, next.from()));
			highest = Math.max(highest, permits);
		}
		return highest;
	}

}
