package io.holdfast.engine;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;

import io.holdfast.engine.EngineObserver.HandOver;
import io.holdfast.engine.EngineObserver.HoldEnd;
import io.holdfast.engine.EngineObserver.RequestObserver;
import org.jspecify.annotations.Nullable;

/**
 * The observation of one request: its events, in their order, and by one thread at a
 * time. Nothing is told of requests for nested leases only, which never begin. A blocking
 * call notifies on its own thread, before it returns; all other events come on the
 * threads for observers, as observers must not keep a timer or an event loop.
 * Thread-safe.
 */
final class RequestObservation {

	private final EngineObservers all;

	private final List<RequestObserver> observers;

	private final Queue<Runnable> events = new ConcurrentLinkedQueue<>();

	/** Whether a thread is on its way, so that a slow observer keeps no second one. */
	private final AtomicBoolean expected = new AtomicBoolean();

	/** The thread of a blocking call, which notifies at the end of the call. */
	private volatile @Nullable Thread caller;

	// The state in the order of the events

	private boolean begun;

	private boolean granted;

	/** The end of its first hold, which may come before the user takes the lease. */
	private @Nullable HoldEnd end;

	RequestObservation(EngineObservers all, List<RequestObserver> observers) {
		this.all = all;
		this.observers = observers;
	}

	/**
	 * Run a part of a blocking call of a user on the current thread, and notify of its
	 * events at the end: the thread is about to block or return.
	 */
	<T> T call(Supplier<T> part) {
		this.caller = Thread.currentThread();
		try {
			return part.get();
		}
		finally {
			this.caller = null;
			runEvents();
		}
	}

	/** Notify of the events until now on the current thread, which may block. */
	void tellHere() {
		if (!this.events.isEmpty() || this.expected.get()) {
			this.all.threads.executeHere(this::runEvents);
		}
	}

	private void on(Runnable event) {
		this.events.add(event);
		if (Thread.currentThread() != this.caller && !this.expected.getAndSet(true)) {
			this.all.threads.execute(this::runAllEvents);
		}
	}

	private void runAllEvents() {
		do {
			runEvents();
			this.expected.set(false);
		}
		while (!this.events.isEmpty() && !this.expected.getAndSet(true));
	}

	private synchronized void runEvents() {
		for (Runnable event = this.events.poll(); event != null; event = this.events.poll()) {
			event.run();
		}
	}

	private void tell(Consumer<RequestObserver> event) {
		this.all.forEach(this.observers, event);
	}

	/** The request, or one of its parts, has to be asked for. */
	void begin() {
		on(this::tellBegin);
	}

	private void tellBegin() {
		if (!this.begun) {
			this.begun = true;
			// One that fails would be told of an end without a begin.
			this.observers.removeIf((observer) -> !this.all.guard.run(observer::began));
		}
	}

	/** The request waited for others. Comes with its grant. */
	void handedOver(HandOver way) {
		this.events.add(() -> tell((observer) -> observer.handedOver(way)));
	}

	/**
	 * Notify of the outcome, before the user has it.
	 * @param result the outcome
	 * @param blocking whether the current thread is that of a waiting user; otherwise it
	 * is one that may block
	 */
	void settled(CompletableFuture<? extends EngineLease> result, boolean blocking) {
		result.whenComplete((lease, error) -> this.events.add(() -> {
			if (error != null) {
				tellBegin();
				tell((observer) -> observer
					.failed((error instanceof RuntimeException ex) ? ex : new IllegalStateException(error)));
			}
			else if (this.begun) {
				this.granted = true;
				tell((observer) -> observer.granted(lease.fences()));
				if (this.end != null) {
					tellEnd(this.end);
				}
			}
		}));
		if (blocking) {
			runEvents();
		}
		else {
			tellHere();
		}
	}

	/** The code under its lease goes on although its caller has gone. */
	void callerGone() {
		on(() -> {
			if (this.granted && this.end == null) {
				tell(RequestObserver::callerGone);
			}
		});
	}

	/** One of its holds has ended, and with it the whole. */
	void ended(HoldEnd end) {
		on(() -> {
			if (this.end == null) {
				this.end = end;
				if (this.granted) {
					tellEnd(end);
				}
			}
		});
	}

	private void tellEnd(HoldEnd end) {
		tell((observer) -> observer.ended(end));
	}

}
