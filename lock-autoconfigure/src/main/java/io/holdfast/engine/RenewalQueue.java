package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Finds the holds that are to be renewed next. It looks at all holds, which may be very
 * many, only now and then; in between only at those that were due soon when it did.
 * Confined to the renewer's timer but for {@link #onChanged}.
 */
final class RenewalQueue {

	/** What is due within this time is renewed together. */
	private static final long WINDOW = TimeUnit.MILLISECONDS.toNanos(100);

	/** What is due later than that is not looked at before that. */
	private static final long AHEAD = 20 * WINDOW;

	/** What is due within some 4 ms is one group: the power of two, in nanoseconds. */
	private static final int GROUP = 22;

	/** Longer than any lease. */
	private static final long NEVER = Long.MAX_VALUE / 2;

	private final Map<String, Hold> holds;

	/** How many are renewed by one command. */
	private final int batch;

	/**
	 * The holds that were due soon at the last look at all, in groups, by their time
	 * since then. A hold that has ended, or was put off, stays in here until it would
	 * have been due; so there are never more than were held at once.
	 */
	private TreeMap<Long, Group> soon = new TreeMap<>();

	/** When all holds were looked at last. */
	private long lookedAt;

	/**
	 * The commands that were sent since. Their holds are put back when they are answered,
	 * as long as they are in the processor's cache, or late: then it is known when each
	 * is due again.
	 */
	private final List<Sent> sent = new ArrayList<>();

	/** When the first of the other holds was due. */
	private volatile long othersAt;

	/** Whether a hold that is new or was changed since the look is due before that. */
	private volatile boolean mustLook = true;

	RenewalQueue(Map<String, Hold> holds, int batch) {
		this.holds = holds;
		this.batch = batch;
	}

	/**
	 * Note that a hold is new, or due sooner than before. Called by any thread, after it
	 * is in the map.
	 */
	void onChanged(long due) {
		if (due - this.othersAt < 0) {
			this.mustLook = true;
		}
	}

	/**
	 * Take the holds to renew now, as many as one command has, if any is due: with it,
	 * those that soon will be. More may be due still.
	 * @param onExpired what to do with holds whose validity is over
	 */
	List<Hold> takeDue(long now, Consumer<Hold> onExpired) {
		if (this.mustLook || this.othersAt - now <= WINDOW) {
			lookAtAll(now);
		}
		requeueSent(now);
		if (this.soon.isEmpty() || firstGroup().at - now > 0) {
			return List.of();
		}
		List<Hold> due = new ArrayList<>(this.batch);
		List<Hold> putOff = new ArrayList<>();
		while (due.size() < this.batch && !this.soon.isEmpty() && firstGroup().at - now <= WINDOW) {
			List<Hold> holds = firstGroup().holds;
			while (due.size() < this.batch && !holds.isEmpty()) {
				Hold hold = holds.remove(holds.size() - 1);
				if (hold.isHeld(now)) {
					(isDue(hold, now) ? due : putOff).add(hold);
				}
				else if (!hold.hasEnded()) {
					onExpired.accept(hold);
				}
			}
			if (holds.isEmpty()) {
				this.soon.pollFirstEntry();
			}
		}
		putOff.forEach((hold) -> requeue(hold, now));
		return due;
	}

	private Group firstGroup() {
		return this.soon.firstEntry().getValue();
	}

	private static boolean isDue(Hold hold, long now) {
		long left = hold.renewAt() - now;
		return left <= WINDOW && hold.renewalMillis(now) > 0
				&& left <= TimeUnit.MILLISECONDS.toNanos(hold.request.leaseMillis()) / 10;
	}

	/**
	 * Note that holds which were taken are renewed by a command. Each is to be renewed
	 * again by the time that it has now, unless the answer changes that.
	 */
	void onSent(List<Hold> holds, CompletableFuture<?> answer, long now) {
		long lateAt = now + NEVER;
		for (Hold hold : holds) {
			lateAt = earlier(lateAt, hold.renewAtOrBeforeEnd());
		}
		this.sent.add(new Sent(holds, answer, lateAt));
	}

	private void requeueSent(long now) {
		this.sent.removeIf((command) -> {
			boolean over = command.answer().isDone() || command.lateAt() - now <= 0;
			if (over) {
				command.holds().forEach((hold) -> requeue(hold, now));
			}
			return over;
		});
	}

	/** Put back a hold, which is due at another time than before. */
	private void requeue(Hold hold, long now) {
		long at = hold.dueAt(now);
		if (at - this.othersAt < 0) {
			addSoon(hold, at);
		}
	}

	private void addSoon(Hold hold, long at) {
		Group group = this.soon.computeIfAbsent((at - this.lookedAt) >> GROUP, (key) -> new Group(at));
		group.holds.add(hold);
		group.at = earlier(group.at, at);
	}

	private void lookAtAll(long now) {
		// In this order: a hold that is added now counts as not seen.
		this.mustLook = false;
		this.othersAt = now + NEVER;
		this.sent.clear();
		long others = now + NEVER;
		this.lookedAt = now;
		this.soon = new TreeMap<>();
		for (Hold hold : this.holds.values()) {
			// Sooner than it is due if it is not renewed; mostly that is enough to know.
			long at = hold.renewAtOrBeforeEnd();
			if (at - now <= AHEAD) {
				at = hold.dueAt(now);
			}
			if (at - now <= AHEAD) {
				addSoon(hold, at);
			}
			else {
				others = earlier(others, at);
			}
		}
		this.othersAt = others;
	}

	/** Discard what has ended, as far as it would be due next. */
	void discardEnded() {
		while (!this.soon.isEmpty()) {
			List<Hold> holds = firstGroup().holds;
			holds.removeIf(Hold::hasEnded);
			if (!holds.isEmpty()) {
				return;
			}
			this.soon.pollFirstEntry();
		}
	}

	/**
	 * Return when something is due again.
	 * @return when, or nothing if nothing is to come
	 */
	OptionalLong nextAt(long now) {
		long next = this.soon.isEmpty() ? this.othersAt : earlier(this.othersAt, firstGroup().at);
		for (Sent command : this.sent) {
			next = earlier(next, command.lateAt());
		}
		return (next - now < NEVER / 2) ? OptionalLong.of(next) : OptionalLong.empty();
	}

	private static long earlier(long left, long right) {
		return (left - right < 0) ? left : right;
	}

	/**
	 * A command that renews.
	 *
	 * @param holds what it renews
	 * @param answer completed by its answer
	 * @param lateAt when the first of them is renewed again without an answer
	 */
	private record Sent(List<Hold> holds, CompletableFuture<?> answer, long lateAt) {

	}

	/** Holds that are due at nearly the same time. */
	private static final class Group {

		/** When the first of them is due, as it was known; not later. */
		private long at;

		private final List<Hold> holds = new ArrayList<>();

		Group(long at) {
			this.at = at;
		}

	}

}
