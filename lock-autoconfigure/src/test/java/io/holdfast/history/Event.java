package io.holdfast.history;

/**
 * One line of a history. Which of the fields matter is told at its {@link Type}; the
 * others are empty.
 *
 * @param at when it happened, in nanoseconds of a clock that all who write share
 * @param type what happened
 * @param by the instance that it happened to
 * @param id the request, and the lease that comes of it; of a request for several keys,
 * each has an id of its own
 * @param key the key
 * @param mode how it is asked for
 * @param user for whom: a thread, perhaps, that may write and read the same key
 * @param permits how many permits; not for locks
 * @param limit how many there are in all; of a semaphore only
 * @param fence the fencing token, 0 if it is not known
 * @param until when something ends
 * @param lease how long a lease is to last, in nanoseconds
 * @param why further words, without spaces
 */
public record Event(long at, Type type, String by, String id, String key, Mode mode, String user, int permits,
		int limit, long fence, long until, long lease, String why) {

	/**
	 * Write something down.
	 * @param at when it happened
	 * @param type what happened
	 * @param by the instance, or nothing if it is about none
	 * @return an event with nothing else
	 */
	public static Event of(long at, Type type, String by) {
		return new Event(at, type, by, "", "", Mode.NONE, "", 0, 0, 0, 0, 0, "");
	}

	public Event id(String id) {
		return new Event(this.at, this.type, this.by, id, this.key, this.mode, this.user, this.permits, this.limit,
				this.fence, this.until, this.lease, this.why);
	}

	public Event of(Mode mode, String key) {
		return new Event(this.at, this.type, this.by, this.id, key, mode, this.user, this.permits, this.limit,
				this.fence, this.until, this.lease, this.why);
	}

	public Event user(String user) {
		return new Event(this.at, this.type, this.by, this.id, this.key, this.mode, user, this.permits, this.limit,
				this.fence, this.until, this.lease, this.why);
	}

	public Event permits(int permits, int limit) {
		return new Event(this.at, this.type, this.by, this.id, this.key, this.mode, this.user, permits, limit,
				this.fence, this.until, this.lease, this.why);
	}

	public Event fence(long fence) {
		return new Event(this.at, this.type, this.by, this.id, this.key, this.mode, this.user, this.permits, this.limit,
				fence, this.until, this.lease, this.why);
	}

	public Event until(long until) {
		return new Event(this.at, this.type, this.by, this.id, this.key, this.mode, this.user, this.permits, this.limit,
				this.fence, until, this.lease, this.why);
	}

	public Event lease(long nanos) {
		return new Event(this.at, this.type, this.by, this.id, this.key, this.mode, this.user, this.permits, this.limit,
				this.fence, this.until, nanos, this.why);
	}

	public Event why(String why) {
		return new Event(this.at, this.type, this.by, this.id, this.key, this.mode, this.user, this.permits, this.limit,
				this.fence, this.until, this.lease, why);
	}

	/** As one line of text. */
	@Override
	public String toString() {
		StringBuilder line = new StringBuilder().append(this.at).append(' ').append(this.type);
		append(line, "by", this.by);
		append(line, "id", this.id);
		append(line, "mode", (this.mode != Mode.NONE) ? this.mode.name() : "");
		append(line, "key", this.key);
		append(line, "user", this.user);
		append(line, "permits", this.permits);
		append(line, "limit", this.limit);
		append(line, "fence", this.fence);
		append(line, "until", this.until);
		append(line, "lease", this.lease);
		append(line, "why", this.why);
		return line.toString();
	}

	private static void append(StringBuilder line, String name, String value) {
		if (!value.isEmpty()) {
			line.append(' ').append(name).append('=').append(value);
		}
	}

	private static void append(StringBuilder line, String name, long value) {
		if (value != 0) {
			line.append(' ').append(name).append('=').append(value);
		}
	}

	/**
	 * Read a line as {@link #toString()} writes it.
	 * @param line the line
	 * @return the event
	 */
	public static Event parse(String line) {
		String[] words = line.strip().split(" +");
		Event event = of(Long.parseLong(words[0]), Type.valueOf(words[1]), "");
		for (int i = 2; i < words.length; i++) {
			int equals = words[i].indexOf('=');
			event = event.with(words[i].substring(0, equals), words[i].substring(equals + 1));
		}
		return event;
	}

	private Event with(String name, String value) {
		return switch (name) {
			case "by" -> new Event(this.at, this.type, value, this.id, this.key, this.mode, this.user, this.permits,
					this.limit, this.fence, this.until, this.lease, this.why);
			case "id" -> id(value);
			case "mode" -> of(Mode.valueOf(value), this.key);
			case "key" -> of(this.mode, value);
			case "user" -> user(value);
			case "permits" -> permits(Integer.parseInt(value), this.limit);
			case "limit" -> permits(this.permits, Integer.parseInt(value));
			case "fence" -> fence(Long.parseLong(value));
			case "until" -> until(Long.parseLong(value));
			case "lease" -> lease(Long.parseLong(value));
			case "why" -> why(value);
			default -> throw new IllegalArgumentException("An event has no " + name);
		};
	}

	/**
	 * What keys are locked as. Locks of all modes share their keys; those of semaphores
	 * are others.
	 */
	public enum Mode {

		NONE, EXCLUSIVE, READ, PERMITS

	}

	/**
	 * What happens.
	 */
	public enum Type {

		/**
		 * A request begins: by, id, mode, key, user; permits and limit of a semaphore;
		 * until when it is to be answered, 0 for never; lease; why is {@code PART} if
		 * others are asked for together with it, {@code NOT_WAITING} if one answer
		 * decides.
		 */
		ASKED,

		/**
		 * It is fair, and waits for its turn among the requests of its instance that ask
		 * for the same: id; why, {@code HERE} if the instance decides alone whose turn it
		 * is, {@code STORE} if each stands in the store's queue.
		 */
		IN_TURN,

		/**
		 * It is to count as lost for some time before others may have what it holds: id;
		 * lease, how long.
		 */
		MARGIN,

		/** Its caller was interrupted, or cancelled it, where that ends a wait: id. */
		INTERRUPTED,

		/**
		 * Acquire returned: id; fence; until when it is held if nothing lengthens it. Why
		 * is the id of the lease that it is nested in, if it is.
		 */
		GRANTED,

		/**
		 * The store granted a lock to an instance, which may not know of it yet: by, key
		 * and mode; fence.
		 */
		STORE_GRANTED,

		/** A grant of an instance was not confirmed in time: by. */
		UNCONFIRMED,

		/**
		 * The store refused to take in a request of an instance, as its memory was full:
		 * by, key and mode.
		 */
		FULL,

		/**
		 * Whatever an instance is granted has to be confirmed by replicas from now on:
		 * by.
		 */
		CONFIRMING,

		/** A grant was confirmed: id. */
		CONFIRMED,

		/**
		 * What it is granted next was passed on within its instance, and not granted by
		 * the store: id; why, the id of the lease before or, if there was none, until,
		 * when the store had granted it.
		 */
		PASSED_ON,

		/** Acquire failed: id; why, a reason or {@code STORE} or {@code LOST}. */
		REFUSED,

		/**
		 * The store granted to it what it had been granted before, because it had asked
		 * more than once: id. May undo that it was taken away in between.
		 */
		GRANTED_AGAIN,

		/** It was seen to be held: id; until when, if nothing lengthens it. */
		HELD,

		/**
		 * Its release began: id; until when it was held, at most until now; 0 for now.
		 * Why is {@code RETAINED} if others are to be kept out for longer.
		 */
		RELEASING,

		/** Its release was answered: id; why, the answer. */
		RELEASED,

		/**
		 * The store answered to its release, which was sent once, that its token held
		 * nothing: id.
		 */
		GONE,

		/**
		 * It was released, or lost by a shut-down while code ran under it, but keeps
		 * others out: id; until.
		 */
		RETAINED,

		/**
		 * Its user was told that it is lost: id; until when it would have been held at
		 * most, 0 if that is not known; lease, how long others are kept out after that.
		 * Why is {@code RENEWED} if it was to be renewed yet.
		 */
		LOST,

		/** Something of it was renewed: by, id. */
		RENEWAL,

		/** An instance was dead from now on: by. */
		CRASHED,

		/** An instance stood still: by; until. */
		PAUSED,

		/** Commands of an instance failed, were late or not answered: by; until. */
		TROUBLE,

		/** No command of an instance was answered: by; until. */
		OUTAGE,

		/** An instance began to shut down: by. */
		SHUT_DOWN,

		/**
		 * What was stored was lost: key and mode, or neither for all; at some moment
		 * before until, at once if that is 0.
		 */
		DATA_LOST,

		/**
		 * Another server took over, which may lack the last changes, and granted nothing
		 * new: until when. Nothing may be held twice for it.
		 */
		FAILED_OVER,

		/**
		 * An owner's lease was ended in its name: key and mode; id, or nothing if all of
		 * the key were; until, as when data is lost.
		 */
		FORCED,

		/** Its instance was told that it was released by force: by, id. */
		ENDED,

		/**
		 * A semaphore's limit was set: key, limit, -1 to remove it; until when that was
		 * answered.
		 */
		LIMIT,

		/**
		 * A command on what may be over already was repeated: id; why, what that changed,
		 * or nothing.
		 */
		REPEATED,

		/**
		 * The store kept something for an instance that had known nothing of it for a
		 * while: by, key and mode; until, since when.
		 */
		FORGOTTEN,

		/** Wake-ups of an instance were lost, or late: by; until. */
		DEAF,

		/** An instance that had shut down goes on: by. */
		RESUMED,

		/** An instance made itself known: by. */
		KNOWN,

		/** All instances that are there were asked for. */
		LISTED,

		/** At that, an instance was told of: by. */
		MEMBER,

		/** An instance asked all instances for what they hold: by, id. */
		INQUIRED,

		/** That was answered: by, id; why, {@code STORE} if it failed. */
		INQUIRY_ANSWERED,

		/**
		 * At that, an instance reported what it holds: by, id; why, the ids of its
		 * leases, with commas between.
		 */
		REPORTED,

		/**
		 * A user was told, or saw, what must not be: by; why, what; permits, the number
		 * of the property.
		 */
		UNEXPECTED,

		/** What goes wrong has come to its end. */
		FAULTS_OVER,

		/** All who asked are answered, and all who held are through with it. */
		QUIET,

		/**
		 * The store had something: key and mode; why, {@code HELD}, {@code WAITING} or
		 * another word; permits, how many; until when, -1 for ever.
		 */
		STORED,

		/** An instance had something: by; why, what; permits, how many. */
		LEFT

	}

}
