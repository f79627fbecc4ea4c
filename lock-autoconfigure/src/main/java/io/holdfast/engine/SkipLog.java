package io.holdfast.engine;

import java.util.List;

import io.holdfast.LockHolder;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.NotAcquiredException;
import io.holdfast.async.BoundedExecutor;
import io.holdfast.async.SingleLine;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Logs refusals of optional requests, which cause no exception, at the level DEBUG, with
 * the exclusive holder if known. Thread-safe.
 */
final class SkipLog {

	private static final Log logger = LogFactory.getLog(SkipLog.class);

	/**
	 * Runs the logging, which may block, one refusal at a time: thousands may come at
	 * once.
	 */
	private final BoundedExecutor thread;

	SkipLog(EngineContext context) {
		this.thread = new BoundedExecutor(context.callbacks, 1);
	}

	/** Log the refusal of an optional request. */
	void follow(List<ResolvedRequest> requests, PendingAcquisition<?> acquisition) {
		if (logger.isDebugEnabled()) {
			acquisition.result.whenComplete((lease, error) -> {
				if (error instanceof NotAcquiredException refusal) {
					this.thread.execute(() -> log(requests.get(0).name(), refusal));
				}
			});
		}
	}

	private static void log(@Nullable String name, NotAcquiredException refusal) {
		switch (refusal.getReason()) {
			case TIMED_OUT -> logger.debug(SingleLine
				.of("Skipped" + ((name != null) ? " " + name : "") + ": " + refusal.getMessage() + holder(refusal)));
			case SHUTDOWN, EXCEEDS_LIMIT, TOO_MANY_WAITERS ->
				logger.debug(SingleLine.of(((name != null) ? name + ": " : "") + refusal.getMessage()));
			case INTERRUPTED, SELF_BLOCKED -> {
				// The caller gets an exception, or has gone: nothing to log.
			}
		}
	}

	private static String holder(NotAcquiredException refusal) {
		LockHolder holder = (refusal instanceof LockNotAcquiredException ex) ? ex.getHolder() : null;
		return (holder != null) ? ". Holder: instance " + holder.instance() + " (application " + holder.application()
				+ ", host " + holder.host() + ", process " + holder.process() + ")" : "";
	}

}
