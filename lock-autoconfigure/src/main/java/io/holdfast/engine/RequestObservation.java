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
 * Observation of one request. Notifies the observers of events in order, on one thread at
 * a time. Requests that get a nested lease never begin, and cause no notifications. A
 * blocking call notifies on its own thread, before it returns. All other events are
 * notified on the threads for observers, because observers must not block a timer or an
 * event loop. Thread-safe.
 */
final class RequestObservation {

	private final EngineObservers engineObservers;

	private final List<RequestObserver> observers;

	private final Queue<Runnable> events = new ConcurrentLinkedQueue<>();

	/**
	 * Whether a thread is scheduled or running for the events, so that a slow observer
	 * occupies only one thread.
	 */
	private final AtomicBoolean threadScheduled = new AtomicBoolean();

	/** Thread of a blocking call, which notifies the observers at the end of the call. */
	private volatile @Nullable Thread caller;

	// State after the events notified so far

	private boolean begun;

	private boolean granted;

	/**
	 * End of the first hold that has ended. May precede the user's receipt of the lease.
	 */
	private @Nullable HoldEnd end;

	RequestObservation(EngineObservers engineObservers, List<RequestObserver> observers) {
		this.engineObservers = engineObservers;
		this.observers = observers;
	}

	/**
	 * Run a part of a user's blocking call on the current thread, and then notify the
	 * observers of its events, before the thread blocks or returns.
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

	/** Notify the observers of pending events on the current thread, which may block. */
	void tellHere() {
		if (!this.events.isEmpty() || this.threadScheduled.get()) {
			this.engineObservers.threads.executeHere(this::runEvents);
		}
	}

	private void addEvent(Runnable event) {
		this.events.add(event);
		if (Thread.currentThread() != this.caller && !this.threadScheduled.getAndSet(true)) {
			this.engineObservers.threads.execute(this::runAllEvents);
		}
	}

	private void runAllEvents() {
		do {
			runEvents();
			this.threadScheduled.set(false);
		}
		while (!this.events.isEmpty() && !this.threadScheduled.getAndSet(true));
	}

	private synchronized void runEvents() {
		for (Runnable event = this.events.poll(); event != null; event = this.events.poll()) {
			event.run();
		}
	}

	private void tell(Consumer<RequestObserver> event) {
		this.engineObservers.forEach(this.observers, event);
	}

	/** Note that the request, or one of its keys, has to wait or ask the store. */
	void begin() {
		addEvent(this::tellBegin);
	}

	private void tellBegin() {
		if (!this.begun) {
			this.begun = true;
			// Drop observers that fail here: they would get an end without a beginning.
			this.observers.removeIf((observer) -> !this.engineObservers.guard.run(observer::began));
		}
	}

	/** Note that the request waited for another owner. Called with the grant. */
	void handedOver(HandOver way) {
		this.events.add(() -> tell((observer) -> observer.handedOver(way)));
	}

	/**
	 * Notify the observers of the outcome, before the user gets it.
	 * @param result the outcome
	 * @param blocking whether the current thread is that of the user's blocking call;
	 * otherwise it is a callback thread, which may block
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

	/** Note that the caller of the code under the lease has gone. */
	void callerGone() {
		addEvent(() -> {
			if (this.granted && this.end == null) {
				tell(RequestObserver::callerGone);
			}
		});
	}

	/** Note that a hold has ended, and with it the lease of all keys. */
	void ended(HoldEnd end) {
		addEvent(() -> {
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
