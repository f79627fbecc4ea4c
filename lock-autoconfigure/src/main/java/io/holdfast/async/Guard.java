package io.holdfast.async;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

import org.apache.commons.logging.Log;
import org.jspecify.annotations.Nullable;

/**
 * Guard of Holdfast against exceptions of users' code, such as observers. The first
 * failure is logged as a warning, and further failures at the level DEBUG. Thread-safe.
 */
public final class Guard {

	private final Log logger;

	private final String problem;

	private final String consequence;

	private final AtomicBoolean warned = new AtomicBoolean();

	/**
	 * Create a guard.
	 * @param logger the logger of failures
	 * @param problem the message of a failure
	 * @param consequence the consequence of a failure, for the first message
	 */
	public Guard(Log logger, String problem, String consequence) {
		this.logger = logger;
		this.problem = problem;
		this.consequence = consequence;
	}

	/**
	 * Run code that may fail.
	 * @param code the code
	 * @return {@code false} if the code failed
	 */
	public boolean run(Runnable code) {
		try {
			code.run();
			return true;
		}
		catch (RuntimeException | Error ex) {
			log(ex);
			return false;
		}
	}

	/**
	 * Call code that may fail.
	 * @param <T> the type of the value
	 * @param code the code
	 * @param otherwise supplies the value if the code fails
	 * @return the value
	 */
	public <T extends @Nullable Object> T get(Supplier<T> code, Supplier<T> otherwise) {
		try {
			return code.get();
		}
		catch (RuntimeException | Error ex) {
			log(ex);
			return otherwise.get();
		}
	}

	private void log(Throwable failure) {
		if (this.warned.compareAndSet(false, true)) {
			this.logger.warn(this.problem + "; " + this.consequence + ". Further failures are logged as DEBUG",
					failure);
		}
		else {
			this.logger.debug(this.problem, failure);
		}
	}

}
