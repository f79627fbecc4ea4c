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
 * Runs events one after the other. An event runs on the thread that submits it if no
 * other event is running, and is queued otherwise. Thread-safe.
 */
class SerialExecutor {

	private static final Log logger = LogFactory.getLog(SerialExecutor.class);

	/**
	 * Maximum number of queued events that a thread runs before another thread continues.
	 */
	private static final int EVENTS_PER_THREAD = 100;

	/**
	 * A field updater, to save an atomic object per executor: one executor is created for
	 * almost each lease.
	 */
	private static final AtomicIntegerFieldUpdater<SerialExecutor> RUNNING = AtomicIntegerFieldUpdater
		.newUpdater(SerialExecutor.class, "running");

	private final Object owner;

	private final Executor others;

	/**
	 * Queued events. Created when an event is queued for the first time, which is rare.
	 */
	private volatile @Nullable Queue<Runnable> events;

	/** Set to 1 while an event runs. */
	private volatile int running;

	/** First action to run after the current event, or {@code null}. */
	private @Nullable Runnable afterEvent;

	/** Further actions to run after the current event, which are rare. */
	private List<Runnable> moreAfterEvent = List.of();

	/**
	 * Create an executor.
	 * @param owner the owner of the executor, for messages
	 * @param others runs further events when a thread has run its maximum
	 */
	SerialExecutor(Object owner, Executor others) {
		this.owner = owner;
		this.others = others;
	}

	/** Run an event now, or queue it behind the running and queued events. */
	final void execute(Runnable event) {
		// The usual case: no other event is running, so that no queue is needed.
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
		Queue<Runnable> existing = this.events;
		return existing == null || existing.isEmpty();
	}

	private Queue<Runnable> queue() {
		Queue<Runnable> existing = this.events;
		if (existing != null) {
			return existing;
		}
		synchronized (this) {
			existing = this.events;
			if (existing == null) {
				existing = new ConcurrentLinkedQueue<>();
				this.events = existing;
			}
			return existing;
		}
	}

	/**
	 * Run queued events. After a maximum number of events, another thread continues: this
	 * thread may be the driver's or that of a call with a deadline, and must not be kept
	 * by an endless stream of events.
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
				event = (--left > 0 && this.afterEvent == null) ? events.poll() : null;
			}
			endTurn();
		}
	}

	/**
	 * Run an action after the current event, on the same thread, while other events may
	 * already run. Called by events only.
	 * @param action an action that is too slow for an event, and need not be serialized
	 */
	protected final void runAfterEvent(Runnable action) {
		if (this.afterEvent == null) {
			this.afterEvent = action;
			return;
		}
		this.moreAfterEvent = this.moreAfterEvent.isEmpty() ? new ArrayList<>() : this.moreAfterEvent;
		this.moreAfterEvent.add(action);
	}

	/** Let other threads run events, and then run the deferred actions. */
	private void endTurn() {
		Runnable first = this.afterEvent;
		List<Runnable> more = this.moreAfterEvent;
		this.afterEvent = null;
		this.moreAfterEvent = List.of();
		this.running = 0;
		if (first != null) {
			run(first);
			more.forEach(this::run);
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

}
