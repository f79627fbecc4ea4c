package io.holdfast.engine;

import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;

import org.jspecify.annotations.Nullable;

/**
 * Virtual time of a {@link Simulation}, in nanoseconds from its start. Actions run in the
 * order of their times, and take no time.
 */
final class Timeline {

	private static final int MAX_EVENTS = 30_000;

	private final PriorityQueue<Action> actions = new PriorityQueue<>((left, right) -> (left.at != right.at)
			? Long.compare(left.at, right.at) : Long.compare(left.order, right.order));

	private long now;

	private long order;

	/** Number of pending foreground actions. */
	private int foreground;

	long now() {
		return this.now;
	}

	/** Schedule an action that does not depend on an instance. */
	void at(long delay, Runnable action) {
		add(new Action(this.now + Math.max(0, delay), this.order++, null, action, false));
	}

	/**
	 * Schedule an action on an instance's threads. A paused instance runs the action
	 * after the pause, a dead instance never. Background actions do not delay the end.
	 */
	Future<?> schedule(long delay, SimulatedInstance instance, Runnable action, boolean background) {
		Action scheduled = new Action(this.now + Math.max(0, delay), this.order++, instance, action, background);
		add(scheduled);
		return scheduled;
	}

	private void add(Action action) {
		this.foreground += action.background ? 0 : 1;
		this.actions.add(action);
	}

	/** Run all actions until no foreground action is left. */
	void drain() {
		for (int count = 0; this.foreground > 0; count++) {
			if (count > MAX_EVENTS) {
				throw new IllegalStateException("property 6: the history does not end");
			}
			next();
		}
	}

	/** Run all actions within a time. */
	void elapse(long nanos) {
		long until = this.now + nanos;
		while (!this.actions.isEmpty() && this.actions.peek().at <= until) {
			next();
		}
		this.now = until;
	}

	private void next() {
		Action action = this.actions.remove();
		this.foreground -= action.background ? 0 : 1;
		if (action.isCancelled() || action.instance != null && action.instance.crashed) {
			return;
		}
		this.now = Math.max(this.now, action.at);
		long paused = (action.instance != null) ? action.instance.pausedFor() : 0;
		if (paused == 0) {
			action.action.run();
		}
		else {
			action.at = this.now + paused;
			action.order = this.order++;
			add(action);
		}
	}

	/**
	 * Scheduled action.
	 */
	private static final class Action extends CompletableFuture<@Nullable Void> {

		private long at;

		private long order;

		private final @Nullable SimulatedInstance instance;

		private final Runnable action;

		private final boolean background;

		Action(long at, long order, @Nullable SimulatedInstance instance, Runnable action, boolean background) {
			this.at = at;
			this.order = order;
			this.instance = instance;
			this.action = action;
			this.background = background;
		}

	}

}
