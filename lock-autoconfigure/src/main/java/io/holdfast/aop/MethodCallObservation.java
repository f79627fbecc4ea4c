package io.holdfast.aop;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

import io.holdfast.async.CallResult;
import io.holdfast.async.DaemonThreads;
import io.micrometer.observation.Observation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * One call for its observer, if there is one: told once of its end, and kept from
 * disturbing it. Thread-safe.
 */
final class MethodCallObservation {

	/** Of calls without an observer. */
	static final MethodCallObservation NONE = new MethodCallObservation(Observation.NOOP, new AtomicBoolean());

	private static final Log logger = LogFactory.getLog(MethodObserver.class);

	final Observation observation;

	/** Whether the observer's first failure was logged. */
	private final AtomicBoolean warned;

	private final AtomicBoolean ended = new AtomicBoolean();

	private MethodCallObservation(Observation observation, AtomicBoolean warned) {
		this.observation = observation;
		this.warned = warned;
	}

	/**
	 * Start to observe a call.
	 * @param warned whether it was logged before that the observer failed
	 */
	static MethodCallObservation of(AtomicBoolean warned, Supplier<Observation> start) {
		try {
			return new MethodCallObservation(start.get(), warned);
		}
		catch (RuntimeException | Error ex) {
			warn(warned, ex);
			return NONE;
		}
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
			guarded(scope::close);
		}
	}

	/**
	 * Run the method or its substitute on the current thread, which observes the call
	 * until then.
	 */
	@Nullable Object run(Body body) throws Throwable {
		Observation.Scope scope = open();
		try {
			return body.run();
		}
		finally {
			guarded(scope::close);
		}
	}

	private Observation.Scope open() {
		try {
			return this.observation.openScope();
		}
		catch (RuntimeException | Error ex) {
			warn(this.warned, ex);
			return Observation.Scope.NOOP;
		}
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
		guarded(() -> {
			if (failure != null) {
				this.observation.error(failure);
			}
			this.observation.stop();
		});
	}

	private void guarded(Runnable told) {
		try {
			told.run();
		}
		catch (RuntimeException | Error ex) {
			warn(this.warned, ex);
		}
	}

	/**
	 * Tell the observer that the call is over, and go on. Where that comes on a thread of
	 * others, such as an event loop or a timer, another thread does both.
	 */
	void ended(@Nullable Throwable failure, Runnable then) {
		if (!isObserved() || this.ended.get()) {
			then.run();
		}
		else if (DaemonThreads.isForCode()) {
			ended(failure);
			then.run();
		}
		else {
			CallResult.onNewThread(() -> {
				ended(failure);
				then.run();
			});
		}
	}

	private static void warn(AtomicBoolean warned, Throwable ex) {
		if (warned.compareAndSet(false, true)) {
			logger.warn("An observer of annotated methods failed; the calls are not affected. "
					+ "Further failures are logged as DEBUG", ex);
		}
		else {
			logger.debug("An observer of annotated methods failed", ex);
		}
	}

	/** The code that is run. */
	interface Body {

		@Nullable Object run() throws Throwable;

	}

}
