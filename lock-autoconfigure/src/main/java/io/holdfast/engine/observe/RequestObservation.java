package io.holdfast.engine.observe;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

import io.holdfast.engine.observe.EngineObserver.HoldEnd;
import io.holdfast.engine.observe.EngineObserver.RequestObserver;
import io.holdfast.engine.request.ResolvedRequest;
import org.jspecify.annotations.Nullable;

/**
 * The observation of one request: observers are told in order and once, on whichever
 * thread something happens. They are not told of requests for nested leases only.
 * Thread-safe.
 *
 * @since 0.1.0
 */
public final class RequestObservation {

	private final ObserverGuard guard;

	private final EngineObserver[] observers;

	private final ObservedEngine engine;

	private final List<ResolvedRequest> requests;

	/** What each observer has noted of the thread that asks. */
	private final @Nullable Object[] captured;

	/** Whether it is decided what becomes of the request. */
	private final AtomicBoolean settled = new AtomicBoolean();

	private final List<RequestObserver> requestObservers = new ArrayList<>(2);

	/** Whether it is known not to be nested. */
	private volatile boolean begun;

	private RequestState state = RequestState.NEW;

	/** The end of its hold, if that came before its grant was told. */
	private @Nullable HoldEnd earlyEnd;

	RequestObservation(ObserverGuard guard, EngineObserver[] observers, ObservedEngine engine,
			List<ResolvedRequest> requests) {
		this.guard = guard;
		this.observers = observers;
		this.engine = engine;
		this.requests = requests;
		this.captured = new Object[observers.length];
		for (int i = 0; i < observers.length; i++) {
			try {
				this.captured[i] = observers[i].capture();
			}
			catch (RuntimeException | Error ex) {
				guard.warn(ex);
			}
		}
	}

	/**
	 * Complete the request by its lease: for its observers first, so that its user finds
	 * it observed. No other code is called in between that could wait for this thread.
	 * @return whether it was not completed before
	 */
	public <L extends Fenced> boolean complete(CompletableFuture<L> result, L lease) {
		if (!this.settled.compareAndSet(false, true)) {
			return false;
		}
		this.guard.run(() -> tellGranted(lease.fences()));
		return result.complete(lease);
	}

	/**
	 * Complete the request without a lease, as {@link #complete} does with one.
	 */
	public boolean completeExceptionally(CompletableFuture<?> result, Throwable why) {
		if (!this.settled.compareAndSet(false, true)) {
			return false;
		}
		this.guard.run(() -> tellFailed((why instanceof RuntimeException ex) ? ex : new IllegalStateException(why)));
		return result.completeExceptionally(why);
	}

	/**
	 * Note that it, or one of its parts, has to be asked for. Observers are told by
	 * {@link #begin()} or before whatever else they are told: not in an event of a
	 * coordinator, which they would hold up.
	 */
	public void markBegun() {
		this.begun = true;
	}

	/** Tell that it has begun. */
	public void begin() {
		this.guard.run(this::tellBegin);
	}

	private synchronized void tellBegin() {
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
				this.guard.warn(ex);
			}
		}
	}

	private synchronized void tellGranted(List<Long> fences) {
		if (this.begun) {
			tellBegin();
		}
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

	private synchronized void tellFailed(RuntimeException why) {
		tellBegin();
		this.state = RequestState.OVER;
		tell((observer) -> observer.failed(why));
	}

	/** Tell that some of its permits were given back. */
	public void kept(int permits) {
		this.guard.run(() -> tellKept(permits));
	}

	private synchronized void tellKept(int permits) {
		if (this.state == RequestState.GRANTED) {
			tell((observer) -> observer.kept(permits));
		}
	}

	/** Tell that the code under its lease goes on although its caller has gone. */
	public void callerGone() {
		this.guard.run(this::tellCallerGone);
	}

	private synchronized void tellCallerGone() {
		if (this.state == RequestState.GRANTED) {
			tell(RequestObserver::callerGone);
		}
	}

	/** Tell that one of its holds has ended, and with it the whole. */
	public void ended(HoldEnd end) {
		this.guard.run(() -> tellEnded(end));
	}

	private synchronized void tellEnded(HoldEnd end) {
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
			this.guard.run(() -> event.accept(observer));
		}
	}

	/** A lease, or several together. */
	public interface Fenced {

		/** Return the fence of each of its holds. */
		List<Long> fences();

	}

	private enum RequestState {

		NEW, BEGUN, GRANTED, OVER

	}

}
