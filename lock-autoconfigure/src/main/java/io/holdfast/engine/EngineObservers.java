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
 * Observers of one engine, in the order of their registration. Without observers, no
 * objects are allocated. Slow observers occupy a limited number of threads, and miss
 * events. Exceptions of observers do not reach the engine. Thread-safe.
 */
final class EngineObservers {

	private static final Log logger = LogFactory.getLog(EngineObserver.class);

	/** Maximum number of threads for observers. */
	private static final int THREADS = 64;

	/** Number of pending events from which further events are dropped. */
	private static final int BACKLOG = 10_000;

	/**
	 * Guard of the engine against exceptions of observers, and against a lack of threads.
	 */
	final Guard guard = new Guard(logger, "An observer of leases failed", "the leases are not affected");

	private final List<EngineObserver> observers = new CopyOnWriteArrayList<>();

	/** Threads for observers, which may block them. */
	final BoundedExecutor threads;

	/** Runs the events that belong to no request, one at a time. */
	private final BoundedExecutor events;

	private final AtomicBoolean warnedOfBacklog = new AtomicBoolean();

	/**
	 * Create the observers of an engine.
	 * @param threads runs tasks that may block
	 */
	EngineObservers(Executor threads) {
		this.threads = new BoundedExecutor(threads, THREADS);
		this.events = new BoundedExecutor(this.threads, 1);
	}

	/** Add an observer of all events from now on. */
	void add(EngineObserver observer) {
		this.observers.add(observer);
	}

	/**
	 * Start the observation of a request, on the requesting thread.
	 * @return the observation, or {@code null} if there are no observers or too many
	 * events are pending
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

	/** Return whether to drop an event because too many events are pending. */
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

	/** Notify the observers of a lost lease. */
	void lost(Resource resource, @Nullable String name) {
		tell((observer) -> observer.lost(resource.kind(), name));
	}

	/** Notify the observers of a renewal. */
	void renewed(Resource resource, RenewalOutcome outcome) {
		tell((observer) -> observer.renewed(resource.kind(), outcome));
	}

	/** Notify the observers of a command that failed, or was not answered in time. */
	void failed(Command command) {
		tell((observer) -> observer.failed(command));
	}

	private void tell(Consumer<EngineObserver> event) {
		if (!this.observers.isEmpty() && !leaveOut(this.events.waiting())) {
			this.events.execute(() -> forEach(this.observers, event));
		}
	}

	/**
	 * Wait until the observers are notified of all events.
	 * @param patience the maximum wait
	 */
	void awaitIdle(Duration patience) {
		this.threads.awaitIdle(patience);
	}

	/**
	 * Notify the observers if a command fails, except by cancellation.
	 * @return the given future, which can be cancelled
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

	/** Call each observer. An exception of one observer does not affect the others. */
	<T> void forEach(List<T> observers, Consumer<T> event) {
		for (T observer : observers) {
			this.guard.run(() -> event.accept(observer));
		}
	}

}
