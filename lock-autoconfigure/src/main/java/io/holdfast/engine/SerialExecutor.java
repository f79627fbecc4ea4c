package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Runs events one after the other, each to its end, on the thread that brings one while
 * none runs. Thread-safe.
 */
class SerialExecutor {

	private static final Log logger = LogFactory.getLog(SerialExecutor.class);

	/** How many events a thread runs at a time before another one goes on. */
	private static final int EVENTS_PER_THREAD = 100;

	/**
	 * Not an object for each of them: a queue is made and thrown away with each lease.
	 */
	private static final AtomicIntegerFieldUpdater<SerialExecutor> RUNNING = AtomicIntegerFieldUpdater
		.newUpdater(SerialExecutor.class, "running");

	private final Object owner;

	private final Executor others;

	/** Made when two events meet for the first time: mostly none do. */
	private volatile @Nullable Queue<Runnable> events;

	/** 1 while an event runs. */
	private volatile int running;

	/** Work that the running event has put off. */
	private @Nullable Runnable later;

	/**
	 * Create an executor.
	 * @param owner whose it is, for messages
	 * @param others threads that go on when one has run enough
	 */
	SerialExecutor(Object owner, Executor others) {
		this.owner = owner;
		this.others = others;
	}

	/** Run an event now, or after the running and waiting ones. For any thread. */
	final void execute(Runnable event) {
		// Mostly nothing else is going on, and there is no need for a queue.
		if (isEmpty() && RUNNING.compareAndSet(this, 0, 1)) {
			run(event);
			endTurn();
		}
		else {
			queue().add(event);
		}
		drain();
	}

	private boolean isEmpty() {
		Queue<Runnable> made = this.events;
		return made == null || made.isEmpty();
	}

	private Queue<Runnable> queue() {
		Queue<Runnable> made = this.events;
		if (made != null) {
			return made;
		}
		synchronized (this) {
			made = this.events;
			if (made == null) {
				made = new ConcurrentLinkedQueue<>();
				this.events = made;
			}
			return made;
		}
	}

	/**
	 * Run some events. A stream of them that does not end must not keep this thread,
	 * which may be the driver's or that of a call with a deadline: so another one goes on
	 * after a while.
	 */
	private void drain() {
		int left = EVENTS_PER_THREAD;
		while (!isEmpty()) {
			if (left == 0) {
				this.others.execute(this::drain);
				return;
			}
			if (!RUNNING.compareAndSet(this, 0, 1)) {
				return;
			}
			Queue<Runnable> events = queue();
			Runnable event = events.poll();
			while (event != null) {
				run(event);
				event = (--left > 0 && this.later == null) ? events.poll() : null;
			}
			endTurn();
		}
	}

	/**
	 * Have something done when the event that runs is over, by the same thread, while
	 * others may run already. Called by events only.
	 * @param action work that takes longer than an event should, and needs no protection
	 */
	protected final void later(Runnable action) {
		Runnable before = this.later;
		if (before instanceof SeveralActions several) {
			several.actions.add(action);
		}
		else {
			this.later = (before == null) ? action : new SeveralActions(before, action);
		}
	}

	/** Let other threads run events, and run the work that was put off. */
	private void endTurn() {
		Runnable after = this.later;
		this.later = null;
		this.running = 0;
		if (after != null) {
			run(after);
		}
	}

	private void run(Runnable event) {
		try {
			event.run();
		}
		catch (RuntimeException | Error ex) {
			logger.error("An event at " + this.owner + " failed", ex);
		}
	}

	/**
	 * The actions that one event has put off. A list: where each of very many runs the
	 * one before, the stack ends.
	 */
	private final class SeveralActions implements Runnable {

		private final List<Runnable> actions = new ArrayList<>();

		SeveralActions(Runnable first, Runnable second) {
			this.actions.add(first);
			this.actions.add(second);
		}

		@Override
		public void run() {
			this.actions.forEach(SerialExecutor.this::run);
		}

	}

}
