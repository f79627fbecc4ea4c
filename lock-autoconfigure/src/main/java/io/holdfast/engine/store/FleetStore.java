package io.holdfast.engine.store;

import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * View of operators of all that a {@link LeaseStore} keeps. Nothing of it changes a
 * lease, and no answer contains a token or an instance's id.
 *
 * <p>
 * No method blocks; futures fail as those of {@link LeaseStore} do. Thread-safe.
 */
public interface FleetStore {

	/**
	 * Look for a part of the stored keys, in no order. Bounded in work, not in finds: a
	 * page may be empty although others follow, and have a few more than were wanted.
	 * Keys that are there from the first page to the last are found; keys that come or go
	 * in between may be.
	 * @param kind the kind to look for
	 * @param cursor where the page before ended, or {@code null} to begin
	 * @param wanted how many finds are enough, at least 1
	 * @return a page
	 * @throws IllegalArgumentException if no page ends like that
	 */
	CompletableFuture<Page> scan(Kind kind, @Nullable String cursor, int wanted);

	/**
	 * Look at one thing, at one moment.
	 * @param resource the lock or semaphore
	 * @param most how many holders, and how many of the queue, to name at most
	 * @return the holders and waiters
	 */
	CompletableFuture<Standing> look(Resource resource, int most);

	/**
	 * The finds of one step.
	 *
	 * @param finds the keys found
	 * @param cursor where to go on, or {@code null} if that was all
	 */
	record Page(List<Find> finds, @Nullable String cursor) {
	}

	/**
	 * A trace of something. It may have several, on several pages; by the one that counts
	 * it is told once.
	 *
	 * @param key its key, as its user named it
	 * @param trace the trace found of it
	 */
	record Find(String key, Trace trace) {

		/**
		 * Return whether this is the trace that counts.
		 * @param standing its holders and waiters
		 * @return whether to tell of it because of this find
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
	 * The traces of use that may be found.
	 */
	enum Trace {

		/** It has a holder, or had one. */
		HOLDERS,

		/** An operator has set its limit. */
		LIMIT,

		/** It has a waiter, or had one. */
		QUEUE

	}

	/**
	 * The holders and the queue of a resource.
	 *
	 * @param resource the resource
	 * @param fence a lock's last fencing token, 0 if none is remembered
	 * @param limit a semaphore's limit that an operator has set, or {@code null}
	 * @param asked a semaphore's limit that the last request said, 0 if none is
	 * remembered
	 * @param used how many permits are held
	 * @param holderCount how many hold it
	 * @param holders some of them
	 * @param waiting how many stand in its queue
	 * @param queue the first of them, in their order
	 */
	record Standing(Resource resource, long fence, @Nullable Integer limit, int asked, int used, int holderCount,
			List<TokenState> holders, int waiting, List<TokenState> queue) {

		/**
		 * Return whether it is neither held nor waited for, and has no limit set.
		 * @return whether there is nothing to tell
		 */
		public boolean isEmpty() {
			return this.holderCount == 0 && this.waiting == 0 && this.limit == null;
		}

		/**
		 * Return whether its holder is no instance of this project: then the fence is
		 * that of one before.
		 * @return whether it is held by another program
		 */
		public boolean isForeign() {
			return this.holderCount > 0 && !this.holders.isEmpty() && this.holders.get(0).instance() == null;
		}

	}

	/**
	 * A holder, or a place in a queue.
	 *
	 * @param instance the public id of the instance, or {@code null} if it is no instance
	 * of this project
	 * @param number which of its requests this is
	 * @param kind the kind of the request
	 * @param permits how many permits; of a lock 1 to read
	 * @param ttlMillis how long it is held from now if it is not renewed, -1 for no end;
	 * 0 for waiters
	 */
	record TokenState(@Nullable String instance, long number, Kind kind, int permits, long ttlMillis) {

		/**
		 * Return the place that a token has.
		 * @param token the token or, of a foreign owner, its value, which is not kept
		 * @param kind the kind of the request
		 * @param permits how many permits
		 * @param ttlMillis how long it is held
		 * @return the place
		 */
		public static TokenState of(String token, Kind kind, int permits, long ttlMillis) {
			return Tokens.isToken(token)
					? new TokenState(Tokens.shownInstance(token), Tokens.number(token), kind, permits, ttlMillis)
					: new TokenState(null, 0, kind, permits, ttlMillis);
		}

	}

}
