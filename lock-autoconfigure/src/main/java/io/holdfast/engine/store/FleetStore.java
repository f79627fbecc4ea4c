package io.holdfast.engine.store;

import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * Operators' view of a {@link LeaseStore}. No command changes a lease, and no answer
 * contains a token or the secret id of an instance.
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
	 * Return the holders and waiters of a resource at one moment.
	 * @param resource the lock or semaphore
	 * @param most the maximum number of holders, and of queue entries, to return
	 * @return a future of the holders and waiters
	 */
	CompletableFuture<Standing> look(Resource resource, int most);

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

	/**
	 * Holders and queue of a resource.
	 *
	 * @param resource the resource
	 * @param fence the last fencing token of a lock, 0 if the store has none
	 * @param limit the operator's limit of a semaphore, or {@code null}
	 * @param asked the limit of the last request for a semaphore, 0 if the store has none
	 * @param used the number of held permits
	 * @param holderCount the number of holders
	 * @param holders the first holders
	 * @param waiting the length of the queue
	 * @param queue the first entries of the queue, in order
	 */
	record Standing(Resource resource, long fence, @Nullable Integer limit, int asked, int used, int holderCount,
			List<TokenState> holders, int waiting, List<TokenState> queue) {

		/**
		 * Return whether the resource has no holders, no waiters and no operator's limit.
		 * @return whether the resource is unused
		 */
		public boolean isEmpty() {
			return this.holderCount == 0 && this.waiting == 0 && this.limit == null;
		}

		/**
		 * Return whether the holder is a client other than Holdfast. The fence is then
		 * that of an earlier holder.
		 * @return whether the holder is foreign
		 */
		public boolean isForeign() {
			return this.holderCount > 0 && !this.holders.isEmpty() && this.holders.get(0).instance() == null;
		}

	}

	/**
	 * A holder or a queue entry.
	 *
	 * @param instance the public id of the instance, or {@code null} for a client other
	 * than Holdfast
	 * @param number the number of the request within its instance
	 * @param kind the kind of resource
	 * @param permits the number of permits; for a lock 1 for reading
	 * @param ttlMillis the time left without renewal, in milliseconds; -1 without expiry,
	 * 0 for waiters
	 */
	record TokenState(@Nullable String instance, long number, Kind kind, int permits, long ttlMillis) {

		/**
		 * Return the state of a token.
		 * @param token the token, or the value of a foreign owner, which is not kept
		 * @param kind the kind of resource
		 * @param permits the number of permits
		 * @param ttlMillis the time left without renewal, in milliseconds
		 * @return the state
		 */
		public static TokenState of(String token, Kind kind, int permits, long ttlMillis) {
			return Tokens.isToken(token)
					? new TokenState(Tokens.shownInstance(token), Tokens.number(token), kind, permits, ttlMillis)
					: new TokenState(null, 0, kind, permits, ttlMillis);
		}

	}

}
