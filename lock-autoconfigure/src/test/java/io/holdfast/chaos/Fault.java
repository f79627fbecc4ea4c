package io.holdfast.chaos;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A fault.
 *
 * @param atMillis time since the beginning
 * @param kind the kind of fault
 * @param instance the instance, where that matters
 * @param millis the duration, where that matters
 * @param chance further chance
 */
record Fault(long atMillis, Kind kind, int instance, int millis, int chance) {

	/** Some faults last longer than leases. */
	private static final int LONGEST = (int) (Wish.LONGEST_LEASE.toMillis() * 3 / 2);

	/**
	 * Return random faults.
	 * @param random chance
	 * @param kinds the possible kinds
	 * @param time the whole time
	 * @param instances the number of instances
	 * @return faults in their order, about one and a half in a second
	 */
	static List<Fault> plan(Random random, Set<Kind> kinds, Duration time, int instances) {
		List<Kind> weighted = kinds.stream()
			.sorted()
			.flatMap((kind) -> Stream.generate(() -> kind).limit(kind.weight))
			.toList();
		List<Fault> plan = new ArrayList<>();
		for (long at = random.nextInt(500); at < time.toMillis(); at += 100 + random.nextInt(1100)) {
			Kind kind = weighted.get(random.nextInt(weighted.size()));
			int millis = 50 + random.nextInt((random.nextInt(3) == 0) ? LONGEST : LONGEST / 6);
			plan.add(new Fault(at, kind, random.nextInt(instances), millis, random.nextInt(1000)));
		}
		return plan;
	}

	/** Kind of a fault. */
	enum Kind {

		/** An instance is killed and replaced. */
		KILL(2),

		/** An instance is shut down at work and replaced. */
		SHUT_DOWN(1),

		/** An instance stands still. */
		FREEZE(6),

		/** Data from an instance vanishes, and nothing is sent to the instance. */
		BLACK_HOLE(4),

		/** An instance's connections are closed, and new connections refused. */
		DOWN(4),

		/** An instance gets its replies late. */
		DELAY(4),

		/** A reply is lost, and the connection closed in order. */
		LOST_REPLY(6),

		/** A reply is lost, and the connection reset. */
		RESET(6),

		/** An observation handler of an instance takes a second for each request. */
		SLOW_OBSERVER(3),

		/** The server closes all subscriptions. */
		KILL_SUBSCRIPTIONS(3),

		/** The server closes all connections. */
		KILL_CONNECTIONS(2),

		/** The server forgets all scripts. */
		FLUSH_SCRIPTS(3),

		/** The server stands still. */
		FREEZE_SERVER(3),

		/** The server's memory is full. */
		FULL_MEMORY(3),

		/**
		 * The server is killed and replaced by a replica, or by a server without data.
		 */
		KILL_SERVER(1),

		/** A replica takes over from a live server. */
		FAIL_OVER(2),

		/**
		 * A replica takes over behind the address of a server, which becomes a replica,
		 * and keeps its connections.
		 */
		DEMOTE(2),

		/** Another program deletes the keys of a lock or of a semaphore. */
		DELETE(2),

		/** An operator ends leases by force. */
		FORCE(2),

		/** An operator sets another limit. */
		LIMIT(3);

		private final int weight;

		Kind(int weight) {
			this.weight = weight;
		}

	}

}
