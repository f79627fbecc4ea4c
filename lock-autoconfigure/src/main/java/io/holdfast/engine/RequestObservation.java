package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

import io.holdfast.async.BoundedExecutor;
import io.holdfast.engine.EngineObserver.HandOver;
import io.holdfast.engine.EngineObserver.HoldEnd;
import io.holdfast.engine.EngineObserver.RequestObserver;
import org.jspecify.annotations.Nullable;

/**
 * The observation of one request: observers are told in order and once. They are not told
 * of requests for nested leases only. A blocking call tells on its own thread, before it
 * returns; all else is told on threads for observers. Thread-safe.
 */
final class RequestObservation {

	private final ObserverEvents events;

	private final CompositeObserver all;

	private final EngineObserver[] observers;

	private final ObservedEngine engine;

	private final List<ResolvedRequest> requests;

	/** The notes of each observer on the thread that asks. */
	private final @Nullable Object[] captured;

	/** Whether the outcome of the request is decided. */
	private final AtomicBoolean settled = new AtomicBoolean();

	private final List<RequestObserver> requestObservers = new ArrayList<>(2);

	/** Whether its begin was added, as it is not nested. */
	private volatile boolean begun;

	/** The thread of a blocking call, which tells all at the end of the call. */
	private volatile @Nullable Thread caller;

	private RequestState state = RequestState.NEW;

	/** The end of its hold, if that came before its grant was told. */
	private @Nullable HoldEnd earlyEnd;

	RequestObservation(CompositeObserver all, BoundedExecutor threads, EngineObserver[] observers,
			ObservedEngine engine, List<ResolvedRequest> requests) {
		this.events = new ObserverEvents(threads);
		this.all = all;
		this.observers = observers;
		this.engine = engine;
		this.requests = requests;
		this.captured = new Object[observers.length];
		for (int i = 0; i < observers.length; i++) {
			try {
				this.captured[i] = observers[i].capture();
			}
			catch (RuntimeException | Error ex) {
				all.warn(ex);
			}
		}
	}

	/**
	 * Begin a blocking call of a user on the current thread, which tells all that happens
	 * on it by {@link #endCall()}.
	 */
	void beginCall() {
		this.caller = Thread.currentThread();
	}

	/**
	 * Tell the events until now, on the current thread, which is about to block or
	 * return.
	 */
	void endCall() {
		this.caller = null;
		this.events.tellNow();
	}

	/**
	 * Tell the events until now, before the user goes on.
	 * @param blocking whether the current thread is that of a waiting user; otherwise it
	 * is one that may block
	 */
	void tell(boolean blocking) {
		if (blocking) {
			this.events.tellNow();
		}
		else {
			this.events.tellHere();
		}
	}

	private void on(Runnable event) {
		Runnable guarded = () -> this.all.run(event);
		if (Thread.currentThread() == this.caller) {
			this.events.add(guarded);
		}
		else {
			this.events.addAndTell(guarded);
		}
	}

	/**
	 * Complete the request by its lease. The thread that takes the result tells that
	 * first.
	 * @return whether it was not completed before
	 */
	<L extends EngineLease> boolean complete(CompletableFuture<L> result, L lease) {
		if (!this.settled.compareAndSet(false, true)) {
			return false;
		}
		// Guarded: nothing else would complete it if memory is full.
		this.all.run(() -> {
			List<Long> fences = lease.fences();
			this.events.add(() -> this.all.run(() -> tellGranted(fences)));
		});
		return result.complete(lease);
	}

	/**
	 * Complete the request without a lease, as {@link #complete} does with one.
	 */
	boolean completeExceptionally(CompletableFuture<?> result, Throwable why) {
		if (!this.settled.compareAndSet(false, true)) {
			return false;
		}
		this.all.run(() -> {
			RuntimeException told = (why instanceof RuntimeException ex) ? ex : new IllegalStateException(why);
			this.events.add(() -> this.all.run(() -> tellFailed(told)));
		});
		return result.completeExceptionally(why);
	}

	/** Tell that it has begun: it, or one of its parts, has to be asked for. */
	void begin() {
		if (!this.begun) {
			this.begun = true;
			on(this::tellBegin);
		}
	}

	/** Tell, with its grant, that it waited for others. */
	void handedOver(HandOver way) {
		this.events.add(() -> {
			for (EngineObserver observer : this.observers) {
				this.all.run(() -> observer.handedOver(this.requests.get(0).resource().kind(), way));
			}
		});
	}

	private void tellBegin() {
		if (this.state != RequestState.NEW) {
			return;
		}
		this.state = RequestState.BEGUN;
		ObservedRequest request = ObservedRequest.of(this.engine, this.requests);
		for (int i = 0; i < this.observers.length; i++) {
			try {
				RequestObserver observer = this.observers[i].began(request, this.captured[i]);
				if (observer != null) {
					this.requestObservers.add(observer);
				}
			}
			catch (RuntimeException | Error ex) {
				this.all.warn(ex);
			}
		}
	}

	private void tellGranted(List<Long> fences) {
		if (this.state != RequestState.BEGUN) {
			// All of it is nested.
			this.state = RequestState.OVER;
			return;
		}
		this.state = RequestState.GRANTED;
		tell((observer) -> observer.granted(fences));
		if (this.earlyEnd != null) {
			tellEnded(this.earlyEnd);
		}
	}

	private void tellFailed(RuntimeException why) {
		tellBegin();
		this.state = RequestState.OVER;
		tell((observer) -> observer.failed(why));
	}

	/** Tell that the code under its lease goes on although its caller has gone. */
	void callerGone() {
		on(this::tellCallerGone);
	}

	private void tellCallerGone() {
		if (this.state == RequestState.GRANTED) {
			tell(RequestObserver::callerGone);
		}
	}

	/** Tell that one of its holds has ended, and with it the whole. */
	void ended(HoldEnd end) {
		on(() -> tellEnded(end));
	}

	private void tellEnded(HoldEnd end) {
		if (this.state == RequestState.GRANTED) {
			this.state = RequestState.OVER;
			tell((observer) -> observer.ended(end));
		}
		else if (this.earlyEnd == null) {
			this.earlyEnd = end;
		}
	}

	private void tell(Consumer<RequestObserver> event) {
		for (RequestObserver observer : this.requestObservers) {
			this.all.run(() -> event.accept(observer));
		}
	}

	private enum RequestState {

		NEW, BEGUN, GRANTED, OVER

	}

}
