package io.holdfast.engine;

import java.util.List;
import java.util.stream.Stream;

import io.holdfast.LockMode;
import io.holdfast.async.SingleLine;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * Report of an instance on its holds and waits, with the names of requests and threads.
 *
 * @param instance the public id of the instance
 * @param holds the holds: those of the queried keys first, then the oldest first
 * @param waits the waiting requests, in the same order
 * @param cut whether entries are missing because of the report's maximum size
 */
public record InstanceReport(String instance, List<Entry> holds, List<Entry> waits, boolean cut) {

	/** Maximum number of holds, and of waits, in a report. */
	public static final int MOST = 1000;

	/** Maximum length of a name or note, in characters. */
	private static final int MAX_LENGTH = 200;

	/**
	 * A hold or a wait. Names and notes come from users: each is shortened to one line of
	 * limited length.
	 *
	 * @param instance the name of the instance
	 * @param number the number of the request within its instance
	 * @param resource the lock or semaphore
	 * @param permits the number of permits
	 * @param name the request's name, or {@code null}
	 * @param thread the name of the requesting thread, {@code null} for an asynchronous
	 * request. Has a remark if the caller of the code under the lease has gone
	 * @param threadId the id of the thread, 0 if there is none
	 * @param millis the duration of the hold or wait until now, in milliseconds
	 * @param ttlMillis the time left without renewal from the holder's view, in
	 * milliseconds; 0 for a wait
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
		 * Return the mode of the request.
		 * @return the mode, or {@code null} for a semaphore
		 */
		public @Nullable LockMode mode() {
			return InstanceReport.mode(this.resource.kind(), this.permits);
		}

	}

	/** Return the entry of a holder or waiter in the store, or {@code null}. */
	public @Nullable Entry find(TokenState token) {
		String instance = token.instance();
		long number = token.number();
		return Stream.concat(this.holds.stream(), this.waits.stream())
			.filter((entry) -> entry.number() == number && entry.instance().equals(instance))
			.findFirst()
			.orElse(null);
	}

	/**
	 * Return the mode of a request.
	 * @param kind the kind of resource
	 * @param permits the number of permits
	 * @return the mode, or {@code null} for a semaphore
	 */
	public static @Nullable LockMode mode(Kind kind, int permits) {
		return switch (kind) {
			case LOCK -> (permits == 1) ? LockMode.READ : LockMode.EXCLUSIVE;
			case SEMAPHORE -> null;
		};
	}

}
