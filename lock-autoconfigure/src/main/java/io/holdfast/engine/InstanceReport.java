package io.holdfast.engine;

import java.util.List;
import java.util.stream.Stream;

import io.holdfast.LockMode;
import io.holdfast.async.SingleLine;
import io.holdfast.engine.store.FleetStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * Report of the holds and waits of one instance, as it knows itself: by name and thread.
 *
 * @param instance the public id of the instance
 * @param holds its holds: first those of the key asked for, if any, and then the oldest
 * @param waits the waits of its callers, in the same order
 * @param cut whether there was more than a report may have
 */
public record InstanceReport(String instance, List<Entry> holds, List<Entry> waits, boolean cut) {

	/** How many holds, and how many waits, a report has at most. */
	public static final int MOST = 1000;

	/** Characters of a name or note. */
	private static final int MAX_LENGTH = 200;

	/**
	 * A hold, or a wait. Users choose names and notes: each is one line of limited
	 * length.
	 *
	 * @param instance the name of its instance
	 * @param number which of its instance's requests it is
	 * @param resource the lock or semaphore
	 * @param permits how many permits
	 * @param name the request's name, or {@code null}
	 * @param thread the name of the thread that asked, {@code null} if it was asked for
	 * asynchronously; with a note if the caller of the code under it has gone
	 * @param threadId which thread, 0 if there is none
	 * @param millis for how long by now
	 * @param ttlMillis how long it is held from now if it is not renewed, as its holder
	 * sees it; 0 for a wait
	 * @param fence the fencing token of a hold, 0 for a wait
	 * @param note the request's note, or {@code null}
	 */
	public record Entry(String instance, long number, Resource resource, int permits, @Nullable String name,
			@Nullable String thread, long threadId, long millis, long ttlMillis, long fence, @Nullable String note) {

		public Entry {
			name = shown(name);
			thread = shown(thread);
			note = shown(note);
		}

		private static @Nullable String shown(@Nullable String text) {
			return (text != null) ? SingleLine.shown(text, MAX_LENGTH) : null;
		}

		/**
		 * Return how a lock is asked for.
		 * @return the mode, or {@code null} for a semaphore
		 */
		public @Nullable LockMode mode() {
			return InstanceReport.mode(this.resource.kind(), this.permits);
		}

		/** Return whether this is the report of a holder or a place in the store. */
		public boolean isOf(TokenState token) {
			return this.number == token.number() && this.instance.equals(token.instance());
		}

	}

	/** Return the report of a holder or a place in the store, or {@code null}. */
	public @Nullable Entry find(TokenState token) {
		return Stream.concat(this.holds.stream(), this.waits.stream())
			.filter((entry) -> entry.isOf(token))
			.findFirst()
			.orElse(null);
	}

	/**
	 * Return how a lock is asked for.
	 * @param kind its kind
	 * @param permits how many of them
	 * @return the mode, or {@code null} for a semaphore
	 */
	public static @Nullable LockMode mode(Kind kind, int permits) {
		return switch (kind) {
			case LOCK -> (permits == 1) ? LockMode.READ : LockMode.EXCLUSIVE;
			case SEMAPHORE -> null;
		};
	}

}
