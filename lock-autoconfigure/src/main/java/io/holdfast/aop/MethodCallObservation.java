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
 * One call for its observer, if there is one: told once of its end, and kept from
 * disturbing it. Thread-safe.
 */
final class MethodCallObservation {

	/** Of calls without an observer. */
	static final MethodCallObservation NONE = new MethodCallObservation(Observation.NOOP, guard());

	final Observation observation;

	private final Guard guard;

	private final AtomicBoolean ended = new AtomicBoolean();

	private MethodCallObservation(Observation observation, Guard guard) {
		this.observation = observation;
		this.guard = guard;
	}

	/** Create a guard against an observer, for all of its calls. */
	static Guard guard() {
		return new Guard(LogFactory.getLog(MethodObserver.class), "An observer of annotated methods failed",
				"the calls are not affected");
	}

	/** Start to observe a call. */
	static MethodCallObservation of(Guard guard, Supplier<Observation> start) {
		return guard.get(() -> new MethodCallObservation(Objects.requireNonNull(start.get()), guard), () -> NONE);
	}

	boolean isObserved() {
		return this != NONE;
	}

	/**
	 * Ask for a lease on the current thread, which observes the call until then.
	 * @return the lease to come; fails if the question does
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
	 * Run the method or its substitute on the current thread, which observes the call
	 * until then.
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

	/** Tell the observer that the store failed, and the method runs all the same. */
	void unguarded() {
		if (isObserved()) {
			this.observation.getContext().put(MethodObserver.UNGUARDED, Boolean.TRUE);
		}
	}

	/** Tell the observer that the call is over. */
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
	 * Tell the observer that the call is over, and go on. Where that comes on a thread of
	 * others, such as an event loop or a timer, another thread does both.
	 */
	void ended(@Nullable Throwable failure, Runnable then) {
		Runnable both = () -> {
			ended(failure);
			then.run();
		};
		if (!isObserved() || this.ended.get() || DaemonThreads.isForCode()) {
			both.run();
		}
		else {
			CallResult.onNewThread(both);
		}
	}

}
