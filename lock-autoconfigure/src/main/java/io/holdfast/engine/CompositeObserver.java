package io.holdfast.engine;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

import io.holdfast.async.BoundedExecutor;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.EngineObserver.HandOver;
import io.holdfast.engine.EngineObserver.RenewalOutcome;
import io.holdfast.engine.store.Resource;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The observers of one engine. Nothing is made for them while there are none. Where they
 * are slow, they keep a limited number of threads, and are told less. Their exceptions
 * are kept from the engine. Thread-safe.
 */
final class CompositeObserver {

	private static final Log logger = LogFactory.getLog(EngineObserver.class);

	private static final EngineObserver[] NONE = {};

	/** The number of threads on which observers are told. */
	private static final int THREADS = 64;

	/** How much may wait to be told, before more is left out. */
	private static final int BACKLOG = 10_000;

	private volatile EngineObserver[] observers = NONE;

	private final BoundedExecutor threads;

	/** Events that belong to no request. */
	private final ObserverEvents events;

	/** How many of these wait. */
	private final AtomicInteger waiting = new AtomicInteger();

	private final AtomicBoolean warned = new AtomicBoolean();

	private final AtomicBoolean warnedOfBacklog = new AtomicBoolean();

	/**
	 * Create the observers of an engine.
	 * @param threads threads that may block
	 */
	CompositeObserver(Executor threads) {
		this.threads = new BoundedExecutor(threads, THREADS);
		this.events = new ObserverEvents(this.threads);
	}

	/** Add an observer, which is told of all that begins from now on. */
	synchronized void add(EngineObserver observer) {
		EngineObserver[] more = Arrays.copyOf(this.observers, this.observers.length + 1);
		more[more.length - 1] = observer;
		this.observers = more;
	}

	/**
	 * Observe a request that is about to begin, on the thread that asks.
	 * @return the observation, or {@code null} if there is no observer, or they are too
	 * slow
	 */
	@Nullable RequestObservation observe(ObservedEngine engine, List<ResolvedRequest> requests) {
		EngineObserver[] observers = this.observers;
		if (observers.length == 0 || leaveOut(this.threads.waiting())) {
			return null;
		}
		return new RequestObservation(this, this.threads, observers, engine, requests);
	}

	/** Return whether to leave something out, as too much waits to be told. */
	private boolean leaveOut(int backlog) {
		if (backlog < BACKLOG) {
			return false;
		}
		warnOfBacklog(backlog);
		return true;
	}

	/** Tell of a lease that was lost. */
	void lost(Resource resource, @Nullable String name) {
		tell((observer) -> observer.lost(resource.kind(), name));
	}

	/** Tell of a renewal. */
	void renewed(Resource resource, RenewalOutcome outcome) {
		tell((observer) -> observer.renewed(resource.kind(), outcome));
	}

	/**
	 * Tell of a grant to a waiter.
	 * @param observation observes its request, or {@code null}
	 */
	void handedOver(Resource resource, HandOver way, @Nullable RequestObservation observation) {
		if (observation != null) {
			observation.handedOver(way);
		}
		else {
			tell((observer) -> observer.handedOver(resource.kind(), way));
		}
	}

	/** Tell of a command that failed, or was not answered in time. */
	void failed(Command command) {
		tell((observer) -> observer.failed(command));
	}

	private void tell(Consumer<EngineObserver> event) {
		if (this.observers.length == 0 || leaveOut(this.waiting.get())) {
			return;
		}
		this.waiting.incrementAndGet();
		run(() -> this.events.addAndTell(() -> {
			this.waiting.decrementAndGet();
			for (EngineObserver observer : this.observers) {
				run(() -> event.accept(observer));
			}
		}));
	}

	/**
	 * Wait until the observers are told of all that has happened.
	 * @param patience the longest wait
	 */
	void awaitTold(Duration patience) {
		this.threads.awaitIdle(patience);
	}

	/**
	 * Tell if a command fails by itself.
	 * @return the command's own answer, which can be cancelled
	 */
	<T> CompletableFuture<T> follow(Command command, CompletableFuture<T> answer) {
		if (this.observers.length > 0 && (!answer.isDone() || answer.isCompletedExceptionally())) {
			answer.whenComplete((reply, error) -> {
				if (error != null && !(error instanceof CancellationException)) {
					failed(command);
				}
			});
		}
		return answer;
	}

	/** Run something for observers. Does not throw. */
	void run(Runnable event) {
		try {
			event.run();
		}
		catch (RuntimeException | Error ex) {
			warn(ex);
		}
	}

	/** Log the failure of an observer: the first as a warning. */
	void warn(Throwable ex) {
		if (this.warned.compareAndSet(false, true)) {
			logger.warn("An observer of leases failed; the leases are not affected. "
					+ "Further failures are logged as DEBUG", ex);
		}
		else {
			logger.debug("An observer of leases failed", ex);
		}
	}

	/** Warn, once, that observers are too slow. */
	private void warnOfBacklog(int backlog) {
		if (this.warnedOfBacklog.compareAndSet(false, true)) {
			logger.warn("Observers of leases are too slow: " + backlog
					+ " of their events wait, and further ones are left out; the leases are not affected");
		}
	}

}
