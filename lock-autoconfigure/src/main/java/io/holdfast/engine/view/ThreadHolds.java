package io.holdfast.engine.view;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import org.jspecify.annotations.Nullable;

/**
 * The leases that the current thread has taken by views, by what was locked.
 */
public final class ThreadHolds {

	private final ThreadLocal<Map<LockRequest, Deque<LockLease>>> leases = ThreadLocal.withInitial(HashMap::new);

	void push(LockRequest lock, LockLease lease) {
		this.leases.get().computeIfAbsent(lock, (key) -> new ArrayDeque<>(2)).push(lease);
	}

	@Nullable LockLease peek(LockRequest lock) {
		Deque<LockLease> held = get(lock);
		return (held != null) ? held.peek() : null;
	}

	int count(LockRequest lock) {
		Deque<LockLease> held = get(lock);
		return (held != null) ? held.size() : 0;
	}

	@Nullable LockLease pop(LockRequest lock) {
		Deque<LockLease> held = get(lock);
		if (held == null) {
			return null;
		}
		LockLease lease = held.pop();
		if (held.isEmpty()) {
			this.leases.get().remove(lock);
			removeIfEmpty();
		}
		return lease;
	}

	private @Nullable Deque<LockLease> get(LockRequest lock) {
		Deque<LockLease> held = this.leases.get().get(lock);
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
