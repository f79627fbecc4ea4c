package io.holdfast.engine;

import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Line of a {@link Plan}: a use or a fault. Times are in milliseconds. A time {@code at}
 * counts from the start.
 */
sealed interface Step {

	/**
	 * Setup of a history.
	 *
	 * @param seed the seed of delays and of the engines' random numbers
	 * @param instances the number of instances
	 * @param keys the number of keys
	 * @param jitter whether delays differ
	 * @param handOvers the maximum count of hand-overs within an instance
	 */
	record Setup(long seed, int instances, int keys, boolean jitter, int handOvers) implements Step {

		@Override
		public List<Step> simpler() {
			List<Step> simpler = new ArrayList<>();
			if (this.jitter) {
				simpler.add(with(false, this.handOvers));
			}
			if (this.handOvers > 0) {
				simpler.add(with(this.jitter, 0));
			}
			return simpler;
		}

		private Setup with(boolean otherJitter, int otherHandOvers) {
			return new Setup(this.seed, this.instances, this.keys, otherJitter, otherHandOvers);
		}

	}

	/**
	 * Lease of a user, after the user's previous use.
	 *
	 * @param user the user, always at the same instance
	 * @param instance the instance
	 * @param gap the pause after the previous use
	 * @param api the API
	 * @param mode the kind of access
	 * @param key the key, or -1 for all keys
	 * @param permits the number of permits
	 * @param fair whether a request for permits is fair
	 * @param waiting the wait time, or -1 for no limit
	 * @param lease the lease time
	 * @param margin the loss margin of a lock
	 * @param renewal whether the lease is renewed
	 * @param minHold the minimum hold
	 * @param hold the time from the grant to the release
	 * @param cancel the time until an interrupt or cancellation, or -1 for none
	 * @param extra an extra action during the hold
	 * @param extraAt the time from the grant to the extra action
	 */
	record Use(int user, int instance, int gap, Api api, Access mode, int key, int permits, boolean fair, int waiting,
			int lease, int margin, boolean renewal, int minHold, int hold, int cancel, Extra extra,
			int extraAt) implements Step {

		@Override
		public List<Step> simpler() {
			return Stream.<Step>of(with(this.api, this.fair, this.minHold, this.cancel, Extra.NONE),
					with(this.api, this.fair, this.minHold, -1, this.extra),
					with(this.api, this.fair, 0, this.cancel, this.extra),
					with(this.api, true, this.minHold, this.cancel, this.extra),
					with(Api.TRY_ASYNC, this.fair, this.minHold, this.cancel, this.extra), withMargin(this.lease, 0))
				.filter((step) -> !step.equals(this))
				.toList();
		}

		/** Return a shorter, similar use of the first key. */
		Use inCrowd(int permits) {
			Api api = (this.api == Api.ASYNC || this.api == Api.TRY_ASYNC) ? Api.THREAD : this.api;
			int wanted = (this.mode == Access.PERMITS) ? permits : 1;
			return new Use(this.user, this.instance % 2, this.gap % 2, api, this.mode, 0, wanted, this.fair,
					this.waiting, this.lease, this.margin, this.renewal, 0, this.hold % 4, this.cancel, this.extra,
					this.extraAt);
		}

		/** Return whether code runs under the lease, as in an annotated method. */
		boolean isForCode() {
			return !this.api.isView() && (this.user + this.gap) % 2 == 0;
		}

		/** Return the lease time of an extra request, which may differ. */
		int extraLease() {
			return (this.extraAt % 3 == 0) ? 2 * this.lease : this.lease;
		}

		/** Return this use with another lease time and loss margin. */
		Use withMargin(int otherLease, int otherMargin) {
			return new Use(this.user, this.instance, this.gap, this.api, this.mode, this.key, this.permits, this.fair,
					this.waiting, otherLease, otherMargin, this.renewal, this.minHold, this.hold, this.cancel,
					this.extra, this.extraAt);
		}

		/**
		 * Return the loss margin of an extra request, which may differ.
		 */
		int extraMargin() {
			return (this.extraAt % 5 == 0) ? this.margin : this.extraAt * extraLease() / 300;
		}

		/** Return this use without minHold, and without a longer extra lease. */
		Use within(int longestLease) {
			return with(this.api, this.fair, 0, this.cancel, (extraLease() > longestLease) ? Extra.NONE : this.extra);
		}

		private Use with(Api otherApi, boolean otherFair, int otherMinHold, int otherCancel, Extra otherExtra) {
			return new Use(this.user, this.instance, this.gap, otherApi, this.mode, this.key, this.permits, otherFair,
					this.waiting, this.lease, this.margin, this.renewal, otherMinHold, this.hold, otherCancel,
					otherExtra, this.extraAt);
		}

	}

	/** Clock of an instance: its drift in parts per million, and its start. */
	record Clock(int instance, int fast, long start) implements Step {
	}

	/** Fate of a command of an instance, by number. */
	record Command(int instance, int number, Fate fate, int millis) implements Step {
	}

	/**
	 * Delay of a wake-up of an instance, by number. A negative delay loses the wake-up.
	 */
	record WakeUp(int instance, int number, int millis) implements Step {
	}

	/** Pause of all threads of an instance. */
	record Pause(int instance, int at, int millis) implements Step {
	}

	/** Death of an instance. */
	record Crash(int instance, int at) implements Step {
	}

	/** Restart of a dead instance, whose users continue. */
	record Restart(int instance, int at) implements Step {
	}

	/**
	 * Stop of an instance and resumption of two copies, as if its process was restored
	 * twice from an image.
	 */
	record Copy(int instance, int at, int patience, int resume) implements Step {
	}

	/** Loss of an instance's subscription for a time, with notice. */
	record Deaf(int instance, int at, int millis) implements Step {
	}

	/**
	 * Subscription at a replica for a time: the instance receives messages, but does not
	 * count as a subscriber, and does not notice.
	 */
	record Uncounted(int instance, int at, int millis) implements Step {
	}

	/** Outage between an instance and the store: errors, or silence. */
	record Outage(int instance, int at, int millis, boolean silent) implements Step {
	}

	/** Acquisition of a free key by a foreign client: SET NX PX. */
	record Foreign(int key, int at, int millis) implements Step {
	}

	/** Limit of a semaphore by an operator. A negative limit removes the limit. */
	record Limit(int key, int at, int limit) implements Step {
	}

	/** Forced release of a key by an operator. */
	record Force(int key, int at) implements Step {
	}

	record DataLoss(int at) implements Step {
	}

	/** Full memory of the store for a time: the store accepts no new tokens. */
	record Full(int at, int millis) implements Step {
	}

	/**
	 * Fail-over to a server that lags behind, with a grace.
	 */
	record FailOver(int at, int lag, int grace) implements Step {
	}

	/**
	 * Confirmation of all grants by replicas, within a timeout.
	 */
	record Confirm(int timeout) implements Step {
	}

	/** Stop of the replication for a time. */
	record Missing(int at, int millis) implements Step {
	}

	/**
	 * Registration of an instance, repeated after a restart.
	 */
	record Known(int instance) implements Step {
	}

	/** Query of an instance for the holds of all instances. */
	record Inquire(int instance, int at) implements Step {
	}

	/** Forced release of a key by an instance. */
	record ForceBy(int instance, int key, boolean semaphore, int at) implements Step {
	}

	/** Shutdown of an instance, with a later resumption unless negative. */
	record GracefulShutdown(int instance, int at, int patience, int resume) implements Step {
	}

	/** Return simpler variants of this step. */
	default List<Step> simpler() {
		return List.of();
	}

	/** Parse a line of {@code toString}. */
	static Step parse(String line) {
		Matcher matcher = Text.LINE.matcher(line.strip());
		if (!matcher.matches()) {
			throw new IllegalArgumentException("No step: " + line);
		}
		Class<?> type = Stream.of(Step.class.getPermittedSubclasses())
			.filter((known) -> known.getSimpleName().equals(matcher.group(1)))
			.findFirst()
			.orElseThrow(() -> new IllegalArgumentException("No step: " + line));
		String[] values = matcher.group(2).split(", ");
		RecordComponent[] components = type.getRecordComponents();
		Object[] arguments = new Object[components.length];
		for (int i = 0; i < components.length; i++) {
			arguments[i] = Text.value(components[i].getType(), values[i].substring(values[i].indexOf('=') + 1));
		}
		try {
			return (Step) type.getDeclaredConstructors()[0].newInstance(arguments);
		}
		catch (ReflectiveOperationException ex) {
			throw new IllegalArgumentException("No step: " + line, ex);
		}
	}

	enum Api {

		/** Blocking call that can be interrupted. */
		THREAD,

		/** Blocking call that defers interrupts. */
		UNINTERRUPTIBLE,

		ASYNC, TRY_ASYNC, REACTIVE,

		/** View of java.util.concurrent that can be interrupted. */
		VIEW,

		/** View that defers interrupts. */
		UNINTERRUPTIBLE_VIEW;

		boolean isView() {
			return this == VIEW || this == UNINTERRUPTIBLE_VIEW;
		}

		/** Return whether a thread blocks in the API. */
		boolean isThread() {
			return this == THREAD || this == UNINTERRUPTIBLE || isView();
		}

	}

	enum Access {

		EXCLUSIVE, READ, PERMITS

	}

	/**
	 * Extra action of a user during a hold.
	 */
	enum Extra {

		NONE,

		/** Nested lease by the context, for the same time. */
		NEST,

		/** Nested lease by the thread. */
		REENTER,

		/** Longer read lease within an exclusive lease. */
		READ,

		/** Manual renewal. */
		RENEW,

		/** Second release. */
		RELEASE_TWICE,

		/** Attempt to unlock a view on another thread. */
		OTHER_THREAD

	}

	enum Fate {

		/** Executed, without a reply. */
		REPLY_LOST,

		/** Not executed, and an error. */
		FAILED,

		/** Executed, and an error. */
		REPLY_FAILED,

		/** Executed twice. */
		REPEATED,

		/** Executed again later. */
		REPEATED_LATE,

		/** Executed late, together with all later commands. */
		LATE,

		/** Executed late, after newer commands: the connection was reopened. */
		OVERTAKEN,

		/** Executed, and answered late. */
		REPLY_LATE

	}

	/**
	 * Parser of steps.
	 */
	final class Text {

		private static final Pattern LINE = Pattern.compile("(\\w+)\\[(.*)]");

		private Text() {
		}

		@SuppressWarnings({ "unchecked", "rawtypes" })
		private static Object value(Class<?> type, String text) {
			if (type == int.class) {
				return Integer.valueOf(text);
			}
			if (type == long.class) {
				return Long.valueOf(text);
			}
			return (type == boolean.class) ? Boolean.valueOf(text) : Enum.valueOf((Class<? extends Enum>) type, text);
		}

	}

}
