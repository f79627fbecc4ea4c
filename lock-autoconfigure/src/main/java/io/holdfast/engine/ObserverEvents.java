package io.holdfast.engine;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;

import io.holdfast.async.BoundedExecutor;

/**
 * Events that observers are yet to be told: in their order, by one thread at a time. An
 * event may come on any thread, which observers must not keep: a timer, an event loop.
 * Thread-safe.
 */
final class ObserverEvents {

	private final BoundedExecutor threads;

	private final Queue<Runnable> events = new ConcurrentLinkedQueue<>();

	/** Whether a thread is on its way, so that a slow observer keeps no other one. */
	private final AtomicBoolean expected = new AtomicBoolean();

	ObserverEvents(BoundedExecutor threads) {
		this.threads = threads;
	}

	/** Add an event, of which the current thread or another one is about to tell. */
	void add(Runnable event) {
		this.events.add(event);
	}

	/** Add an event, and have it told on a thread for observers. */
	void addAndTell(Runnable event) {
		add(event);
		if (!this.expected.getAndSet(true)) {
			this.threads.execute(this::tellAll);
		}
	}

	private void tellAll() {
		do {
			tellNow();
			this.expected.set(false);
		}
		while (!this.events.isEmpty() && !this.expected.getAndSet(true));
	}

	/** Tell the events on the current thread, which is one of its user. */
	synchronized void tellNow() {
		for (Runnable event = this.events.poll(); event != null; event = this.events.poll()) {
			event.run();
		}
	}

	/** Tell the events on the current thread, unless too many are kept by observers. */
	void tellHere() {
		if (!this.events.isEmpty() || this.expected.get()) {
			this.threads.executeHere(this::tellNow);
		}
	}

}
