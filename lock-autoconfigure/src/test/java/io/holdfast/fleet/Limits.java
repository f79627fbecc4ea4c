package io.holdfast.fleet;

import java.util.ArrayList;
import java.util.List;

import io.holdfast.SemaphoreService;

/**
 * Limits of a semaphore in their order, with the times of each.
 */
final class Limits {

	private final List<Change> changes = new ArrayList<>();

	/** Set the limit, and note the time. For a single thread. */
	void set(SemaphoreService semaphores, String key, int limit) {
		long calledAt = System.nanoTime();
		semaphores.admin().setLimit(key, limit);
		add(limit, calledAt, System.nanoTime());
	}

	/** Note that a limit was set between two moments. */
	Limits add(int limit, long calledAt, long returnedAt) {
		this.changes.add(new Change(limit, calledAt, returnedAt));
		return this;
	}

	/**
	 * Return the highest limit that may have been in force in a period; a limit begins
	 * and ends at an unknown moment within the calls that set and replace it.
	 */
	int highest(long from, long until) {
		int highest = 0;
		for (int i = 0; i < this.changes.size(); i++) {
			Change change = this.changes.get(i);
			boolean last = i + 1 == this.changes.size();
			if (change.calledAt <= until && (last || this.changes.get(i + 1).returnedAt >= from)) {
				highest = Math.max(highest, change.limit);
			}
		}
		return highest;
	}

	/**
	 * A limit that was set.
	 *
	 * @param limit the limit
	 * @param calledAt when the call began
	 * @param returnedAt when the call returned
	 */
	private record Change(int limit, long calledAt, long returnedAt) {
	}

}
