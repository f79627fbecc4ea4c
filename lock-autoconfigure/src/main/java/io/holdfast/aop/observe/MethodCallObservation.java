package io.holdfast.aop.observe;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

import io.holdfast.aop.observe.MethodObserver.Call;
import io.holdfast.aop.observe.MethodObserver.ObservationScope;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * One call for its observer, if there is one: told once of its end, and kept from
 * disturbing it. Thread-safe.
 */
public final class MethodCallObservation {

	/** Of calls without an observer. */
	public static final MethodCallObservation NONE = new MethodCallObservation(null, new AtomicBoolean());

	private static final Log logger = LogFactory.getLog(MethodObserver.class);

	private static final ObservationScope NO_SCOPE = () -> {
	};

	private final @Nullable Call call;

	/** Whether the observer's first failure was logged. */
	private final AtomicBoolean warned;

	private final AtomicBoolean ended = new AtomicBoolean();

	private MethodCallObservation(@Nullable Call call, AtomicBoolean warned) {
		this.call = call;
		this.warned = warned;
	}

	/**
	 * A call begins.
	 * @param warned whether it was logged before that the observer failed
	 * @param began tells the observer
	 * @return the watch
	 */
	public static MethodCallObservation of(AtomicBoolean warned, Supplier<Call> began) {
		try {
			return new MethodCallObservation(began.get(), warned);
		}
		catch (RuntimeException | Error ex) {
			warn(warned, ex);
			return NONE;
		}
	}

	/**
	 * Return what Reactor's context is to have of it.
	 * @return the value, or {@code null} if there is no observer
	 */
	@Nullable Object contextValue() {
		try {
			return (this.call != null) ? this.call.contextValue() : null;
		}
		catch (RuntimeException | Error ex) {
			warn(this.warned, ex);
			return null;
		}
	}

	/**
	 * Ask for something on the current thread, which observes the call until then. @param
	 * question asks
	 * @return what that returns
	 */
	public <T> T ask(Supplier<T> question) {
		ObservationScope scope = open();
		try {
			return question.get();
		}
		finally {
			scope.close();
		}
	}

	/**
	 * Run the method, or what comes instead, on the current thread, which observes the
	 * call until then.
	 * @param body what to run
	 * @return what that returns
	 * @throws Throwable what that throws
	 */
	public @Nullable Object run(Body body) throws Throwable {
		ObservationScope scope = open();
		try {
			return body.run();
		}
		finally {
			scope.close();
		}
	}

	private ObservationScope open() {
		if (this.call == null) {
			return NO_SCOPE;
		}
		try {
			ObservationScope scope = this.call.open();
			return () -> handler(() -> scope.close());
		}
		catch (RuntimeException | Error ex) {
			warn(this.warned, ex);
			return NO_SCOPE;
		}
	}

	/** Tell the observer that the call is over. */
	public void ended(@Nullable Throwable failure) {
		Call observed = this.call;
		if (observed != null && !this.ended.getAndSet(true)) {
			handler(() -> observed.ended(failure));
		}
	}

	private void handler(Runnable action) {
		try {
			action.run();
		}
		catch (RuntimeException | Error ex) {
			warn(this.warned, ex);
		}
	}

	private static void warn(AtomicBoolean warned, Throwable ex) {
		try {
			if (warned.compareAndSet(false, true)) {
				logger.warn("An observer of annotated methods failed; the calls are not affected. "
						+ "Further failures are logged as DEBUG", ex);
			}
			else {
				logger.debug("An observer of annotated methods failed", ex);
			}
		}
		catch (StackOverflowError again) {
			// Logging takes more stack than is left after an overflow.
		}
	}

	/**
	 * The code that is run.
	 */
	public interface Body {

		@Nullable Object run() throws Throwable;

	}

}
