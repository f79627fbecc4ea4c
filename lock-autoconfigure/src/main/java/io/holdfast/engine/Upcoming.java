package io.holdfast.engine;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Which holds are to be renewed next. At all that is held, which may be very much, it
 * looks now and then; in between only at what was due soon by then. Confined to the
 * keeper's timer but for {@link #changed}.
 */
final class Upcoming {

	/** What is due within this time is renewed together. */
	private static final long WINDOW = TimeUnit.MILLISECONDS.toNanos(100);

	/** What is due later than that is not looked at before that. */
	private static final long AHEAD = 3 * WINDOW;

	/** Longer than any lease. */
	private static final long NEVER = Long.MAX_VALUE / 2;

	private final Map<String, Hold> holds;

	/** How many are renewed by one command. */
	private final int batch;

	/**
	 * What was due soon when all was looked at, less what is not any more. What ends is
	 * in here until the timer comes next; so there are never more than were held at once.
	 */
	private List<Hold> soon = new ArrayList<>();

	/** When the first of the others was due. */
	private volatile long othersAt;

	/** Whether something is due before that which may not have been there yet. */
	private volatile boolean incomplete = true;

	Upcoming(Map<String, Hold> holds, int batch) {
		this.holds = holds;
		this.batch = batch;
	}

	/**
	 * A hold is new, or due sooner than before. Called by any thread, after it is in the
	 * map.
	 */
	void changed(long due) {
		if (due - this.othersAt < 0) {
			this.incomplete = true;
		}
	}

	/**
	 * What is to be renewed now.
	 * @param over what to do with holds whose validity is over
	 */
	List<Hold> due(long now, Consumer<Hold> over) {
		if (this.incomplete || this.othersAt - now <= WINDOW) {
			lookAtAll(now);
		}
		List<Due> due = new ArrayList<>();
		for (Hold hold : this.soon) {
			long left = hold.renewAt - now;
			if (hold.hasEnded()) {
				continue;
			}
			if (!hold.isHeld(now)) {
				over.accept(hold);
			}
			else if (left <= WINDOW && hold.renewalMillis(now) > 0
					&& left <= TimeUnit.MILLISECONDS.toNanos(hold.demand.leaseMillis()) / 10) {
				due.add(new Due(hold, left));
			}
		}
		return filling(due);
	}

	private void lookAtAll(long now) {
		// In this order: whoever comes meanwhile counts as not seen.
		this.incomplete = false;
		this.othersAt = now + NEVER;
		long others = now + NEVER;
		List<Hold> soon = new ArrayList<>();
		for (Hold hold : this.holds.values()) {
			long first = earlier(hold.renewAt, hold.validUntil());
			if (first - now > AHEAD) {
				others = earlier(others, first);
			}
			else {
				soon.add(hold);
			}
		}
		this.soon = soon;
		this.othersAt = others;
	}

	/**
	 * No more than fills the commands that those need which are due now: the others are
	 * early enough with the next.
	 */
	private List<Hold> filling(List<Due> due) {
		long count = due.size();
		if (count > this.batch) {
			due.sort(Comparator.comparingLong(Due::nanos));
			long now = due.stream().filter((each) -> each.nanos() <= 0).count();
			count = Math.max(1, (now + this.batch - 1) / this.batch) * this.batch;
		}
		return due.stream().limit(count).map(Due::hold).toList();
	}

	/**
	 * When something is due again.
	 * @return when, or nothing if nothing is to come
	 */
	OptionalLong next(long now) {
		long next = this.othersAt;
		List<Hold> left = new ArrayList<>();
		for (Hold hold : this.soon) {
			long due = hold.dueAt(now);
			if (!hold.hasEnded() && due - this.othersAt < 0) {
				next = earlier(next, due);
				left.add(hold);
			}
		}
		this.soon = left;
		return (next - now < NEVER / 2) ? OptionalLong.of(next) : OptionalLong.empty();
	}

	private static long earlier(long left, long right) {
		return (left - right < 0) ? left : right;
	}

	/**
	 * What is to be renewed.
	 *
	 * @param hold what
	 * @param nanos in what time: it may change meanwhile
	 */
	private record Due(Hold hold, long nanos) {
	}

}
