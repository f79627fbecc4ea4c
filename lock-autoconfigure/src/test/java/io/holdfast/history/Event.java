package io.holdfast.history;

/**
 * A line of a history. Its {@link Type} names the fields that matter; all other fields
 * are empty.
 *
 * @param at the time, in nanoseconds of a clock that all writers share
 * @param type the kind of event
 * @param by the instance
 * @param id the request, and its lease; of a request for several keys, each key has its
 * own id
 * @param key the key
 * @param mode the mode of the request
 * @param user the user: a thread, perhaps, that may write and read the same key
 * @param permits number of permits; not for locks
 * @param limit number of all permits; of a semaphore only
 * @param fence the fencing token, 0 if unknown
 * @param until the end of a period
 * @param lease the lease time, in nanoseconds
 * @param why further words, without spaces
 */
public record Event(long at, Type type, String by, String id, String key, Mode mode, String user, int permits,
		int limit, long fence, long until, long lease, String why) {

	/**
	 * Create an event.
	 * @param at the time
	 * @param type the kind of event
	 * @param by the instance, or nothing
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

	/** Return the event as a line of text. */
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
	 * Read a line in the form of {@link #toString()}.
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
	 * Mode of a key's requests. Locks of all modes share their keys; semaphores have keys
	 * of their own.
	 */
	public enum Mode {

		NONE, EXCLUSIVE, READ, PERMITS

	}

	/**
	 * Kind of an event.
	 */
	public enum Type {

		/**
		 * A request begins: by, id, mode, key, user; permits and limit of a semaphore;
		 * until, the deadline of the answer, 0 for none; lease; why is {@code PART} for a
		 * request for several keys, {@code NOT_WAITING} if the first answer decides.
		 */
		ASKED,

		/**
		 * The request is fair, and waits for its turn among equal requests of its
		 * instance: id; why, {@code HERE} if the instance decides alone on the turn,
		 * {@code STORE} if each request stands in the store's queue.
		 */
		IN_TURN,

		/**
		 * The loss margin of the request, during which its hold counts as lost before the
		 * next grant: id; lease, the margin.
		 */
		MARGIN,

		/** An interrupt or a cancellation by the caller, which ends the wait: id. */
		INTERRUPTED,

		/**
		 * Acquire returned: id; fence; until, the end without a renewal. Why is the id of
		 * the outer lease of a nested lease.
		 */
		GRANTED,

		/**
		 * The store granted a lock to an instance, which may not yet know: by, key and
		 * mode; fence.
		 */
		STORE_GRANTED,

		/** A grant of an instance was not confirmed in time: by. */
		UNCONFIRMED,

		/**
		 * The store refused a request of an instance for lack of memory: by, key and
		 * mode.
		 */
		FULL,

		/**
		 * From now on each grant to an instance has to be confirmed by replicas: by.
		 */
		CONFIRMING,

		/** A grant was confirmed: id. */
		CONFIRMED,

		/**
		 * The next grant of the request is a hand-over inside the instance, not a grant
		 * of the store: id; why, the id of the former lease or, without a former lease,
		 * until, the time of the store's grant.
		 */
		PASSED_ON,

		/** Acquire failed: id; why, a reason or {@code STORE} or {@code LOST}. */
		REFUSED,

		/**
		 * The store repeated an earlier grant, after a repeated request: id. May undo a
		 * removal in between.
		 */
		GRANTED_AGAIN,

		/** The lease was seen as held: id; until, the end without a renewal. */
		HELD,

		/**
		 * A release began: id; until, the end of the hold, at most now; 0 for now. Why is
		 * {@code
		 * RETAINED} if the key is kept for the rest of a least time.
		 */
		RELEASING,

		/** A release was answered: id; why, the answer. */
		RELEASED,

		/**
		 * The store answered a release, which was sent once, that its token held nothing:
		 * id.
		 */
		GONE,

		/**
		 * A lease was released, or lost by a shut-down under running code, and its key is
		 * kept: id; until.
		 */
		RETAINED,

		/**
		 * The user saw the loss of a lease: id; until, its latest end, 0 if unknown;
		 * lease, the remaining margin. Why is {@code RENEWED} if further renewals were
		 * due.
		 */
		LOST,

		/** A renewal of a lease: by, id. */
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
		 * Stored data was lost: key and mode, or neither for all; at some moment before
		 * until, at once if that is 0.
		 */
		DATA_LOST,

		/**
		 * Another server took over, possibly without the last changes, and granted
		 * nothing new: until. No resource may be held twice because of the fail-over.
		 */
		FAILED_OVER,

		/**
		 * An owner's lease was ended by force: key and mode; id, or nothing for all of
		 * the key; until, as in a loss of data.
		 */
		FORCED,

		/** The instance was informed of a forced release: by, id. */
		ENDED,

		/**
		 * A semaphore's limit was set: key, limit, -1 to remove the limit; until, the
		 * time of the answer.
		 */
		LIMIT,

		/**
		 * A command for a possibly ended lease was repeated: id; why, the changes, or
		 * nothing.
		 */
		REPEATED,

		/**
		 * The store kept an entry for an instance that had forgotten its request: by, key
		 * and mode; until, the time of forgetting.
		 */
		FORGOTTEN,

		/** Wake-ups of an instance were lost, or late: by; until. */
		DEAF,

		/** An instance resumed after a shut-down: by. */
		RESUMED,

		/** An instance made itself known: by. */
		KNOWN,

		/** A list of all present instances was requested. */
		LISTED,

		/** An instance was in the list: by. */
		MEMBER,

		/** An instance requested the reports of all instances: by, id. */
		INQUIRED,

		/** The reports were answered: by, id; why, {@code STORE} after a failure. */
		INQUIRY_ANSWERED,

		/**
		 * An instance reported its holds: by, id; why, the ids of its leases, with commas
		 * between.
		 */
		REPORTED,

		/**
		 * A user saw a violation: by; why, its description; permits, the number of the
		 * property.
		 */
		UNEXPECTED,

		/** The faults have come to their end. */
		FAULTS_OVER,

		/** All requests are answered, and all leases have ended. */
		QUIET,

		/**
		 * An entry of the store: key and mode; why, {@code HELD}, {@code WAITING} or
		 * another word; permits, their number; until, the end, -1 without an end.
		 */
		STORED,

		/** Leftovers of an instance: by; why, their kind; permits, their number. */
		LEFT

	}

}
