package io.holdfast.memory;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

/**
 * Holders of a resource, by token and by the end of their leases.
 */
final class StoredPermits {

	private final Map<String, StoredHolder> holders = new HashMap<>();

	private final TreeSet<StoredHolder> byEnd = new TreeSet<>(
			Comparator.comparingLong(StoredHolder::expiresAt).thenComparing(StoredHolder::token));

	/** Total number of permits of all holders. */
	private long used;

	/** Latest end of all leases so far, including ended ones. */
	private long until;

	@Nullable StoredHolder find(String token) {
		return this.holders.get(token);
	}

	boolean contains(String token) {
		return this.holders.containsKey(token);
	}

	/** Return the first holders, in the order of the ends of their leases. */
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

	/** Return the total number of permits of all holders. */
	long used() {
		return this.used;
	}

	/** Return the latest end of all leases so far, including ended ones. */
	long until() {
		return this.until;
	}

	/** Add a holder, in place of an earlier holder with the same token. */
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

	/** Remove the holders whose leases have ended. */
	void removeUntil(long now) {
		while (!this.byEnd.isEmpty() && this.byEnd.first().expiresAt() <= now) {
			remove(this.byEnd.first().token());
		}
	}

	record StoredHolder(String token, int permits, long expiresAt) {
	}

}
