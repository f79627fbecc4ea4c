package io.holdfast.aop;

import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

import io.holdfast.async.CallResult;
import io.holdfast.async.DaemonThreads;
import io.holdfast.async.Guard;
import io.micrometer.observation.Observation;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Observation of one call, if there is an observer. Stops the observation once, and
 * shields the call from exceptions of the observer. Thread-safe.
 */
final class MethodCallObservation {

	/** Observation of calls without an observer. */
	static final MethodCallObservation NONE = new MethodCallObservation(Observation.NOOP, guard());

	final Observation observation;

	private final Guard guard;

	private final AtomicBoolean ended = new AtomicBoolean();

	private MethodCallObservation(Observation observation, Guard guard) {
		this.observation = observation;
		this.guard = guard;
	}

	/** Create the guard against exceptions of observers. */
	static Guard guard() {
		return new Guard(LogFactory.getLog(MethodObserver.class), "An observer of annotated methods failed",
				"the calls are not affected");
	}

	/** Start the observation of a call. */
	static MethodCallObservation of(Guard guard, Supplier<Observation> start) {
		return guard.get(() -> new MethodCallObservation(Objects.requireNonNull(start.get()), guard), () -> NONE);
	}

	boolean isObserved() {
		return this != NONE;
	}

	/**
	 * Request a lease within the scope of the observation.
	 * @return a future of the lease, which fails if the request throws an exception
	 */
	<T> CompletableFuture<T> ask(Supplier<CompletableFuture<T>> question) {
		Observation.Scope scope = open();
		try {
			return question.get();
		}
		catch (RuntimeException | Error ex) {
			return CompletableFuture.failedFuture(ex);
		}
		finally {
			this.guard.run(scope::close);
		}
	}

	/**
	 * Run the method or its fallback within the scope of the observation.
	 */
	<T> @Nullable T run(CallResult.Code<T> body) throws Throwable {
		Observation.Scope scope = open();
		try {
			return body.run();
		}
		finally {
			this.guard.run(scope::close);
		}
	}

	private Observation.Scope open() {
		return this.guard.get(this.observation::openScope, () -> Observation.Scope.NOOP);
	}

	/** Note that the method runs without permits because the store failed. */
	void unguarded() {
		if (isObserved()) {
			this.observation.getContext().put(MethodObserver.UNGUARDED, Boolean.TRUE);
		}
	}

	/** Stop the observation. */
	void ended(@Nullable Throwable failure) {
		if (!isObserved() || this.ended.getAndSet(true)) {
			return;
		}
		this.guard.run(() -> {
			if (failure != null) {
				this.observation.error(failure);
			}
			this.observation.stop();
		});
	}

	/**
	 * Stop the observation, and then run an action. Moves both to another thread if the
	 * current thread may not block, such as an event loop or a timer.
	 */
	void ended(@Nullable Throwable failure, Runnable then) {
		Runnable stopAndContinue = () -> {
			ended(failure);
			then.run();
		};
		if (!isObserved() || this.ended.get() || DaemonThreads.isForCode()) {
			stopAndContinue.run();
		}
		else {
			CallResult.runOnNewThread(stopAndContinue);
		}
	}

}
