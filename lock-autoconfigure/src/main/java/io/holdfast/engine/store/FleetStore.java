package io.holdfast.engine.store;

import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * Operators' search for the keys of a {@link LeaseStore}. Changes nothing.
 *
 * <p>
 * No method blocks; futures fail as those of {@link LeaseStore} do. Thread-safe.
 */
public interface FleetStore {

	/**
	 * Return a page of the stored keys, in no order. The work per page is limited: a page
	 * may be empty although more pages follow, and may be slightly larger than wanted.
	 * Keys that exist during the whole scan are found; keys that are added or removed
	 * during the scan may be missing.
	 * @param kind the kind of resource
	 * @param cursor the cursor of the previous page, or {@code null} for the first page
	 * @param wanted the desired number of finds, at least 1
	 * @return a future of the page
	 * @throws IllegalArgumentException if the cursor is invalid
	 */
	CompletableFuture<Page> scan(Kind kind, @Nullable String cursor, int wanted);

	/**
	 * Page of a scan.
	 *
	 * @param finds the keys found
	 * @param cursor the cursor of the next page, or {@code null} after the last page
	 */
	record Page(List<Find> finds, @Nullable String cursor) {
	}

	/**
	 * A find of a scan. A resource may have several traces, on different pages. Only one
	 * of its traces counts, so that each resource is listed once.
	 *
	 * @param key the key as its user named it
	 * @param trace the kind of trace
	 */
	record Find(String key, Trace trace) {

		/**
		 * Return whether this is the trace that counts.
		 * @param standing the holders and waiters of the resource
		 * @return whether to list the resource because of this find
		 */
		public boolean counts(Standing standing) {
			return switch (this.trace) {
				case HOLDERS -> standing.holderCount() > 0;
				case LIMIT -> standing.holderCount() == 0 && standing.limit() != null;
				case QUEUE -> standing.holderCount() == 0 && standing.limit() == null && standing.waiting() > 0;
			};
		}

	}

	/**
	 * Kind of trace that a resource leaves in the store.
	 */
	enum Trace {

		/** The resource has, or had, a holder. */
		HOLDERS,

		/** An operator has set the limit. */
		LIMIT,

		/** The resource has, or had, a waiter. */
		QUEUE

	}

}
