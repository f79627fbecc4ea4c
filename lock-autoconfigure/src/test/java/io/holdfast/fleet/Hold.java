package io.holdfast.fleet;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;

import io.holdfast.engine.store.Resource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A hold of a lock or of permits, from the return of acquire to the call of release.
 * Times are those of {@link System#nanoTime()}, which processes of one machine share.
 *
 * @param permits the number of permits; 1 of an exclusive lock, {@link Resource#ALL} of a
 * writer
 * @param fence its fencing token, or 0
 * @param from when the hold began
 * @param until when the hold ended
 */
record Hold(int permits, long fence, long from, long until) {

	/** Create a hold of an exclusive lock. */
	Hold(long fence, long from, long until) {
		this(1, fence, from, until);
	}

	Hold until(long end) {
		return new Hold(this.permits, this.fence, this.from, end);
	}

	/**
	 * Check that no two holds overlap, and that fences grow in the order of holding.
	 * @param holds all holds of a key
	 */
	static void assertExclusive(Collection<Hold> holds) {
		List<Hold> inOrder = holds.stream().sorted(Comparator.comparingLong(Hold::from)).toList();
		for (int i = 1; i < inOrder.size(); i++) {
			Hold last = inOrder.get(i - 1);
			Hold next = inOrder.get(i);
			assertThat(next.from()).as("begin of %s, which follows %s", next, last)
				.isGreaterThanOrEqualTo(last.until());
			assertThat(next.fence()).as("fence of %s, which follows %s", next, last).isGreaterThan(last.fence());
		}
	}

}
