package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

import io.holdfast.async.BoundedExecutor;
import io.holdfast.async.Guard;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.EngineObserver.RenewalOutcome;
import io.holdfast.engine.EngineObserver.RequestObserver;
import io.holdfast.engine.store.Resource;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The observers of one engine, in their order. Nothing is made for them while there are
 * none. Where they are slow, they keep a limited number of threads, and get fewer events.
 * Their exceptions are kept from the engine. Thread-safe.
 */
final class EngineObservers {

	private static final Log logger = LogFactory.getLog(EngineObserver.class);

	/** The number of threads for observers. */
	private static final int THREADS = 64;

	/** The number of waiting events from which on more are left out. */
	private static final int BACKLOG = 10_000;

	/** Guard of the engine against observers, and against a lack of threads for them. */
	final Guard guard = new Guard(logger, "An observer of leases failed", "the leases are not affected");

	private final List<EngineObserver> observers = new CopyOnWriteArrayList<>();

	/** The threads for observers, which may keep them. */
	final BoundedExecutor threads;

	/** Runs the events that belong to no request, on one of the threads at a time. */
	private final BoundedExecutor events;

	private final AtomicBoolean warnedOfBacklog = new AtomicBoolean();

	/**
	 * Create the observers of an engine.
	 * @param threads threads that may block
	 */
	EngineObservers(Executor threads) {
		this.threads = new BoundedExecutor(threads, THREADS);
		this.events = new BoundedExecutor(this.threads, 1);
	}

	/** Add an observer of all that begins from now on. */
	void add(EngineObserver observer) {
		this.observers.add(observer);
	}

	/**
	 * Observe a request that is about to be made, on the thread that asks.
	 * @return the observation, or {@code null} if there is no observer, or they are too
	 * slow
	 */
	@Nullable RequestObservation observe(LeaseEngine engine, List<ResolvedRequest> requests) {
		if (this.observers.isEmpty() || leaveOut(this.threads.waiting())) {
			return null;
		}
		ObservedRequest request = ObservedRequest.of(engine, requests);
		List<RequestObserver> requestObservers = new ArrayList<>(2);
		forEach(this.observers, (observer) -> {
			RequestObserver requestObserver = observer.requested(request);
			if (requestObserver != null) {
				requestObservers.add(requestObserver);
			}
		});
		return requestObservers.isEmpty() ? null : new RequestObservation(this, requestObservers);
	}

	/** Return whether to leave an event out, as too many wait. */
	private boolean leaveOut(int backlog) {
		if (backlog < BACKLOG) {
			return false;
		}
		if (this.warnedOfBacklog.compareAndSet(false, true)) {
			logger.warn("Observers of leases are too slow: " + backlog
					+ " of their events wait, and further ones are left out; the leases are not affected");
		}
		return true;
	}

	/** Notify of a lease that was lost. */
	void lost(Resource resource, @Nullable String name) {
		tell((observer) -> observer.lost(resource.kind(), name));
	}

	/** Notify of a renewal. */
	void renewed(Resource resource, RenewalOutcome outcome) {
		tell((observer) -> observer.renewed(resource.kind(), outcome));
	}

	/** Notify of a command that failed, or was not answered in time. */
	void failed(Command command) {
		tell((observer) -> observer.failed(command));
	}

	private void tell(Consumer<EngineObserver> event) {
		if (!this.observers.isEmpty() && !leaveOut(this.events.waiting())) {
			this.guard.run(() -> this.events.execute(() -> forEach(this.observers, event)));
		}
	}

	/**
	 * Wait until the observers are notified of all events.
	 * @param patience the longest wait
	 */
	void awaitIdle(Duration patience) {
		this.threads.awaitIdle(patience);
	}

	/**
	 * Notify if a command fails by itself.
	 * @return the command's own answer, which can be cancelled
	 */
	<T> CompletableFuture<T> follow(Command command, CompletableFuture<T> answer) {
		if (!this.observers.isEmpty() && (!answer.isDone() || answer.isCompletedExceptionally())) {
			answer.whenComplete((reply, error) -> {
				if (error != null && !(error instanceof CancellationException)) {
					failed(command);
				}
			});
		}
		return answer;
	}

	/** Call observers, each of which may throw. */
	<T> void forEach(List<T> observers, Consumer<T> event) {
		for (T observer : observers) {
			this.guard.run(() -> event.accept(observer));
		}
	}

}
