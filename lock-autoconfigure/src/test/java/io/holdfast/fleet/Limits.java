package io.holdfast.fleet;

import java.util.ArrayList;
import java.util.List;

import io.holdfast.SemaphoreService;

/**
 * The limits that an operator sets for a semaphore, one after the other, and when each of
 * them was in force.
 */
final class Limits {

	private final List<Change> changes = new ArrayList<>();

	/** Set the limit, and note when. Not to be called by several threads. */
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
	 * The highest limit that may have been in force in a time, of which it is known only
	 * within the calls that set it when it began and ended to be so.
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
	 * @param calledAt when it was asked to be set
	 * @param returnedAt when it was set at the latest
	 */
	private record Change(int limit, long calledAt, long returnedAt) {
	}

}
