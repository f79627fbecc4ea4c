package io.holdfast.engine.observe;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.observe.EngineObserver.Command;
import io.holdfast.engine.observe.EngineObserver.HandOver;
import io.holdfast.engine.observe.EngineObserver.RenewalOutcome;
import io.holdfast.engine.request.ResolvedRequest;
import io.holdfast.engine.store.Resource;
import org.jspecify.annotations.Nullable;

/**
 * The observers of one engine. Nothing is made for them while there are none.
 * Thread-safe.
 *
 * @since 0.1.0
 */
public final class CompositeObserver {

	private static final EngineObserver[] NONE = {};

	private volatile EngineObserver[] observers = NONE;

	private final ObserverGuard guard = new ObserverGuard();

	/** Add an observer, which is told of all that begins from now on. */
	public synchronized void add(EngineObserver observer) {
		EngineObserver[] more = Arrays.copyOf(this.observers, this.observers.length + 1);
		more[more.length - 1] = observer;
		this.observers = more;
	}

	/**
	 * Observe a request that is about to begin, on the thread that asks.
	 * @return the observation, or {@code null} if there is no observer
	 */
	public @Nullable RequestObservation observe(ObservedEngine engine, List<ResolvedRequest> requests) {
		EngineObserver[] observers = this.observers;
		return (observers.length > 0) ? new RequestObservation(this.guard, observers, engine, requests) : null;
	}

	/** Tell of a lease that was lost. */
	public void lost(Resource resource, @Nullable String name) {
		for (EngineObserver observer : this.observers) {
			this.guard.run(() -> observer.lost(resource.kind(), name));
		}
	}

	/** Tell of a renewal. */
	public void renewed(Resource resource, RenewalOutcome outcome) {
		for (EngineObserver observer : this.observers) {
			this.guard.run(() -> observer.renewed(resource.kind(), outcome));
		}
	}

	/** Tell of a grant to a waiter. */
	public void handedOver(Resource resource, HandOver way) {
		for (EngineObserver observer : this.observers) {
			this.guard.run(() -> observer.handedOver(resource.kind(), way));
		}
	}

	/** Tell of a command that failed, or was not answered in time. */
	public void failed(Command command) {
		for (EngineObserver observer : this.observers) {
			this.guard.run(() -> observer.failed(command));
		}
	}

	/**
	 * Tell if a command fails by itself.
	 * @return the command's own answer, which can be cancelled
	 */
	public <T> CompletableFuture<T> follow(Command command, CompletableFuture<T> answer) {
		if (this.observers.length > 0 && (!answer.isDone() || answer.isCompletedExceptionally())) {
			answer.whenComplete((reply, error) -> {
				if (error != null && !(error instanceof CancellationException)) {
					failed(command);
				}
			});
		}
		return answer;
	}

}
