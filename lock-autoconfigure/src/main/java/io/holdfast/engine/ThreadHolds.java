package io.holdfast.engine;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import org.jspecify.annotations.Nullable;

/**
 * The leases that the current thread has taken by views, by key and mode: views whose
 * terms differ count the holds of a thread together.
 */
final class ThreadHolds {

	private final ThreadLocal<Map<Lock, Deque<LockLease>>> leases = ThreadLocal.withInitial(HashMap::new);

	void push(LockRequest request, LockLease lease) {
		this.leases.get().computeIfAbsent(Lock.of(request), (lock) -> new ArrayDeque<>(2)).push(lease);
	}

	@Nullable LockLease peek(LockRequest request) {
		Deque<LockLease> held = get(request);
		return (held != null) ? held.peek() : null;
	}

	int count(LockRequest request) {
		Deque<LockLease> held = get(request);
		return (held != null) ? held.size() : 0;
	}

	@Nullable LockLease pop(LockRequest request) {
		Deque<LockLease> held = get(request);
		if (held == null) {
			return null;
		}
		LockLease lease = held.pop();
		if (held.isEmpty()) {
			this.leases.get().remove(Lock.of(request));
			removeIfEmpty();
		}
		return lease;
	}

	private @Nullable Deque<LockLease> get(LockRequest request) {
		Deque<LockLease> held = this.leases.get().get(Lock.of(request));
		removeIfEmpty();
		return held;
	}

	/** Leave nothing at a thread that holds nothing. */
	private void removeIfEmpty() {
		if (this.leases.get().isEmpty()) {
			this.leases.remove();
		}
	}

	/** The lock that a thread owns by views. */
	private record Lock(String key, LockMode mode) {

		static Lock of(LockRequest request) {
			return new Lock(request.key(), request.mode());
		}

	}

}
