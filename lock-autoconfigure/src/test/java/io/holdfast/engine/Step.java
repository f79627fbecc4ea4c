package io.holdfast.engine;

import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * One line of a {@link Plan}: what a user does, or what goes wrong. Times are in
 * milliseconds; those called {@code at} count from the beginning.
 */
sealed interface Step {

	/**
	 * What there is.
	 *
	 * @param seed for delays and for the engines' own randomness
	 * @param instances how many instances
	 * @param keys how many keys
	 * @param jitter whether delays differ
	 * @param passes how often what is held is passed on within an instance
	 */
	record Setup(long seed, int instances, int keys, boolean jitter, int passes) implements Step {

		@Override
		public List<Step> simpler() {
			List<Step> simpler = new ArrayList<>();
			if (this.jitter) {
				simpler.add(with(false, this.passes));
			}
			if (this.passes > 0) {
				simpler.add(with(this.jitter, 0));
			}
			return simpler;
		}

		private Setup with(boolean otherJitter, int otherPasses) {
			return new Setup(this.seed, this.instances, this.keys, otherJitter, otherPasses);
		}

	}

	/**
	 * A user acquires, holds and releases, after what it did before.
	 *
	 * @param user which user, always at the same instance
	 * @param instance which instance
	 * @param gap how long after what the user did before
	 * @param face by which method
	 * @param mode as what
	 * @param key which key, -1 for all
	 * @param permits how many permits
	 * @param fair whether a request for permits waits behind others
	 * @param waiting how long it waits, -1 for ever
	 * @param lease for how long a lease is
	 * @param margin how long before others may have it it counts as lost, of a lock
	 * @param renewal whether it is renewed
	 * @param minHold for how long others are kept out
	 * @param hold for how long it is held
	 * @param cancel after what time it is interrupted or cancelled, -1 for never
	 * @param extra what else is done while it is held
	 * @param extraAt when, from the grant on
	 */
	record Use(int user, int instance, int gap, Face face, What mode, int key, int permits, boolean fair, int waiting,
			int lease, int margin, boolean renewal, int minHold, int hold, int cancel, Extra extra,
			int extraAt) implements Step {

		@Override
		public List<Step> simpler() {
			return Stream.<Step>of(with(this.face, this.fair, this.minHold, this.cancel, Extra.NONE),
					with(this.face, this.fair, this.minHold, -1, this.extra),
					with(this.face, this.fair, 0, this.cancel, this.extra),
					with(this.face, true, this.minHold, this.cancel, this.extra),
					with(Face.TRY_ASYNC, this.fair, this.minHold, this.cancel, this.extra), withMargin(this.lease, 0))
				.filter((step) -> !step.equals(this))
				.toList();
		}

		/** The same for the first key, and shorter. */
		Use inCrowd(int permits) {
			Face face = (this.face == Face.ASYNC || this.face == Face.TRY_ASYNC) ? Face.THREAD : this.face;
			int wanted = (this.mode == What.PERMITS) ? permits : 1;
			return new Use(this.user, this.instance % 2, this.gap % 2, face, this.mode, 0, wanted, this.fair,
					this.waiting, this.lease, this.margin, this.renewal, 0, this.hold % 4, this.cancel, this.extra,
					this.extraAt);
		}

		/** Whether code runs under the lease, as under that of an annotated method. */
		boolean isForCode() {
			return !this.face.isView() && (this.user + this.gap) % 2 == 0;
		}

		/** How long a lease is that is asked for besides, perhaps by other terms. */
		int extraLease() {
			return (this.extraAt % 3 == 0) ? 2 * this.lease : this.lease;
		}

		/** The same for another lease time and loss margin. */
		Use withMargin(int otherLease, int otherMargin) {
			return new Use(this.user, this.instance, this.gap, this.face, this.mode, this.key, this.permits, this.fair,
					this.waiting, otherLease, otherMargin, this.renewal, this.minHold, this.hold, this.cancel,
					this.extra, this.extraAt);
		}

		/**
		 * How long before others may have it what is asked for besides counts as lost.
		 */
		int extraMargin() {
			return (this.extraAt % 5 == 0) ? this.margin : this.extraAt * extraLease() / 300;
		}

		/** The same without minHold, and without a longer lease than this. */
		Use within(int longestLease) {
			return with(this.face, this.fair, 0, this.cancel, (extraLease() > longestLease) ? Extra.NONE : this.extra);
		}

		private Use with(Face otherFace, boolean otherFair, int otherMinHold, int otherCancel, Extra otherExtra) {
			return new Use(this.user, this.instance, this.gap, otherFace, this.mode, this.key, this.permits, otherFair,
					this.waiting, this.lease, this.margin, this.renewal, otherMinHold, this.hold, otherCancel,
					otherExtra, this.extraAt);
		}

	}

	/** A clock that is fast by parts of a million, and began at any number. */
	record Clock(int instance, int fast, long start) implements Step {
	}

	/** What becomes of the so many-th command of an instance. */
	record Command(int instance, int number, Fate fate, int millis) implements Step {
	}

	/** The so many-th wake-up of an instance is late, or lost if that is negative. */
	record WakeUp(int instance, int number, int millis) implements Step {
	}

	/** All threads of an instance stand still. */
	record Pause(int instance, int at, int millis) implements Step {
	}

	/** An instance dies. */
	record Crash(int instance, int at) implements Step {
	}

	/** An instance that is dead is started again, and its users go on. */
	record Restart(int instance, int at) implements Step {
	}

	/**
	 * An instance stops, and two go on as what it was then: its process was restored
	 * twice from one image.
	 */
	record Copy(int instance, int at, int patience, int resume) implements Step {
	}

	/** An instance is without its subscription for a time, and knows it. */
	record Deaf(int instance, int at, int millis) implements Step {
	}

	/**
	 * An instance's subscription is at a replica for a time: it hears what is published,
	 * but does not count as a subscriber, and knows nothing of that.
	 */
	record Uncounted(int instance, int at, int millis) implements Step {
	}

	/** An instance cannot reach the store: errors, or silence. */
	record Outage(int instance, int at, int millis, boolean silent) implements Step {
	}

	/** A client of the plain pattern takes a key if it is free: SET NX PX. */
	record Foreign(int key, int at, int millis) implements Step {
	}

	/** An operator sets the limit of a semaphore, or removes it if it is negative. */
	record Limit(int key, int at, int limit) implements Step {
	}

	/** An operator releases a key by force. */
	record Force(int key, int at) implements Step {
	}

	/** The store loses all it has. */
	record DataLoss(int at) implements Step {
	}

	/** The store's memory is full for a time: it takes in no token that is new to it. */
	record Full(int at, int millis) implements Step {
	}

	/**
	 * Another server takes over, with what was stored some time before, and gives grace
	 * for so long.
	 */
	record FailOver(int at, int lag, int grace) implements Step {
	}

	/**
	 * Whatever is granted has to be confirmed by replicas, which are given so much time.
	 */
	record Confirm(int timeout) implements Step {
	}

	/** The replicas receive nothing for a time. */
	record Missing(int at, int millis) implements Step {
	}

	/**
	 * An instance makes itself known to those who watch, and again when started again.
	 */
	record Known(int instance) implements Step {
	}

	/** An instance asks all for what they hold. */
	record Inquire(int instance, int at) implements Step {
	}

	/** An instance releases a key by force. */
	record ForceBy(int instance, int key, boolean semaphore, int at) implements Step {
	}

	/** An instance shuts down, and is resumed later if that is not negative. */
	record GracefulShutdown(int instance, int at, int patience, int resume) implements Step {
	}

	/** Steps that are like this one, but less. */
	default List<Step> simpler() {
		return List.of();
	}

	/** Read a line as {@code toString} writes it. */
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

	/**
	 * By which method something is acquired.
	 */
	enum Face {

		/** As a thread, which may be interrupted. */
		THREAD,

		/** As a thread that keeps its interrupts for later. */
		UNINTERRUPTIBLE,

		ASYNC, TRY_ASYNC, REACTIVE,

		/** As a thread, by a view in the habit of java.util.concurrent. */
		VIEW,

		/** By a view, too, as a thread that keeps its interrupts for later. */
		UNINTERRUPTIBLE_VIEW;

		boolean isView() {
			return this == VIEW || this == UNINTERRUPTIBLE_VIEW;
		}

		/** Whether a thread waits in it. */
		boolean isThread() {
			return this == THREAD || this == UNINTERRUPTIBLE || isView();
		}

	}

	/**
	 * What is acquired.
	 */
	enum What {

		EXCLUSIVE, READ, PERMITS

	}

	/**
	 * What a user does besides, while it holds something.
	 */
	enum Extra {

		NONE,

		/** The same once more, by its context, for as long. */
		NEST,

		/** The same once more, as the same thread. */
		REENTER,

		/** To read what it has exclusively, for longer. */
		READ,

		/** To renew it by hand. */
		RENEW,

		/** To release it once more, afterwards. */
		RELEASE_TWICE,

		/** To try to unlock it as another thread, by a view. */
		OTHER_THREAD

	}

	/**
	 * What becomes of a command.
	 */
	enum Fate {

		/** Executed, and its sender does not learn of it. */
		REPLY_LOST,

		/** Not executed, and an error. */
		FAILED,

		/** Executed, and an error. */
		REPLY_FAILED,

		/** Executed twice. */
		REPEATED,

		/** Executed again later. */
		REPEATED_LATE,

		/** Executed late, and all behind it. */
		LATE,

		/** Executed late, behind newer ones: the connection was opened again. */
		OVERTAKEN,

		/** Executed, and answered late. */
		REPLY_LATE

	}

	/**
	 * How steps are read.
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
