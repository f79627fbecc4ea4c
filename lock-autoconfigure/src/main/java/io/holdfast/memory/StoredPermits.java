package io.holdfast.memory;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

/**
 * The permits that are held of one resource, by token and by their end.
 */
final class StoredPermits {

	private final Map<String, StoredHolder> holders = new HashMap<>();

	private final TreeSet<StoredHolder> byEnd = new TreeSet<>(
			Comparator.comparingLong(StoredHolder::expiresAt).thenComparing(StoredHolder::token));

	/** Of all holders together. */
	private long used;

	/** When the last lease has ended of all that ever were. */
	private long until;

	@Nullable StoredHolder find(String token) {
		return this.holders.get(token);
	}

	boolean contains(String token) {
		return this.holders.containsKey(token);
	}

	/** Return the holders whose leases end first. */
	Stream<StoredHolder> first(int most) {
		return this.byEnd.stream().limit(most);
	}

	StoredHolder firstToEnd() {
		return this.byEnd.first();
	}

	StoredHolder lastToEnd() {
		return this.byEnd.last();
	}

	boolean isEmpty() {
		return this.holders.isEmpty();
	}

	int size() {
		return this.holders.size();
	}

	/** Return how many permits all have together. */
	long used() {
		return this.used;
	}

	/** Return when the last lease has ended of all that ever were. */
	long until() {
		return this.until;
	}

	/** Put a holder in, in the place of a former one with its token. */
	void put(StoredHolder held) {
		remove(held.token());
		this.holders.put(held.token(), held);
		this.byEnd.add(held);
		this.used += held.permits();
		this.until = Math.max(this.until, held.expiresAt());
	}

	@Nullable StoredHolder remove(String token) {
		StoredHolder held = this.holders.remove(token);
		if (held != null) {
			this.byEnd.remove(held);
			this.used -= held.permits();
		}
		return held;
	}

	/** Remove the holders whose leases are over. */
	void removeUntil(long now) {
		while (!this.byEnd.isEmpty() && this.byEnd.first().expiresAt() <= now) {
			remove(this.byEnd.first().token());
		}
	}

	record StoredHolder(String token, int permits, long expiresAt) {
	}

}
