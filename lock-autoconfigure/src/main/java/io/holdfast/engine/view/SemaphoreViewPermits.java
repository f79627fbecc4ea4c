package io.holdfast.engine.view;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import io.holdfast.async.SingleLine;
import io.holdfast.engine.lease.LeaseHandle.PermitHandle;

/**
 * The permits that views of semaphores have acquired and not released, by key, in the
 * portions in which they came. Thread-safe.
 */
public final class SemaphoreViewPermits {

	private final Map<String, Deque<Portion>> pools = new HashMap<>();

	synchronized void add(PermitHandle lease) {
		this.pools.computeIfAbsent(lease.key(), (key) -> new ArrayDeque<>(2)).add(new Portion(lease, lease.permits()));
	}

	/**
	 * Take permits out, to be released.
	 * @throws IllegalStateException if there are not as many
	 */
	synchronized List<Portion> take(String key, int count) {
		Deque<Portion> pool = this.pools.getOrDefault(key, new ArrayDeque<>(0));
		// May be more than there are at a time, as those that were lost count too.
		long there = pool.stream().mapToLong(Portion::permits).sum();
		if (count > there) {
			throw new IllegalStateException("Cannot release " + count + " permits of semaphore '" + SingleLine.of(key)
					+ "': its views hold " + there + " permits");
		}
		List<Portion> taken = new ArrayList<>(1);
		for (int left = count; left > 0;) {
			Portion first = pool.removeFirst();
			int kept = Math.max(0, first.permits - left);
			if (kept > 0) {
				pool.addFirst(new Portion(first.lease, kept));
			}
			taken.add(new Portion(first.lease, first.permits - kept));
			left -= first.permits - kept;
		}
		if (pool.isEmpty()) {
			this.pools.remove(key);
		}
		return taken;
	}

	/** Permits of one lease. */
	record Portion(PermitHandle lease, int permits) {
	}

}
