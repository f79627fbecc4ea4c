package io.holdfast.engine;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * What the current thread has locked by views and not unlocked, by key.
 */
final class ThreadHolds {

	private final ThreadLocal<Map<String, Deque<HeldLease>>> leases = ThreadLocal.withInitial(HashMap::new);

	void push(HeldLease lease) {
		this.leases.get().computeIfAbsent(lease.key(), (key) -> new ArrayDeque<>(2)).push(lease);
	}

	@Nullable HeldLease peek(String key) {
		Deque<HeldLease> held = get(key);
		return (held != null) ? held.peek() : null;
	}

	int count(String key) {
		Deque<HeldLease> held = get(key);
		return (held != null) ? held.size() : 0;
	}

	@Nullable HeldLease pop(String key) {
		Deque<HeldLease> held = get(key);
		if (held == null) {
			return null;
		}
		HeldLease lease = held.pop();
		if (held.isEmpty()) {
			this.leases.get().remove(key);
			removeIfEmpty();
		}
		return lease;
	}

	private @Nullable Deque<HeldLease> get(String key) {
		Deque<HeldLease> held = this.leases.get().get(key);
		removeIfEmpty();
		return held;
	}

	/** Nothing is left at a thread that holds nothing. */
	private void removeIfEmpty() {
		if (this.leases.get().isEmpty()) {
			this.leases.remove();
		}
	}

}
