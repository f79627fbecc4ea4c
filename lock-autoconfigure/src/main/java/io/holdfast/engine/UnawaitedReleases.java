package io.holdfast.engine;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.async.CallResult;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The releases whose callers go on without the answer. Their number is limited, so that a
 * slow store slows its callers down. A failure is logged once until a release is
 * answered: an outage may hit a thousand of them. Thread-safe.
 */
final class UnawaitedReleases {

	/** The most releases of an instance that may be without an answer. */
	static final int LIMIT = 1_000;

	private static final Log logger = LogFactory.getLog(UnawaitedReleases.class);

	private final AtomicInteger unanswered = new AtomicInteger();

	private final AtomicBoolean failing = new AtomicBoolean();

	/**
	 * Add a release that was sent.
	 * @param answer the answer to come
	 * @param goOn completed once the caller may go on: at once or, beyond the limit, with
	 * the answer
	 */
	void add(CompletableFuture<?> answer, CompletableFuture<@Nullable Void> goOn) {
		if (answer.isDone() && !answer.isCompletedExceptionally()) {
			// Without the store, as for a nested lease: no news of an outage.
			goOn.complete(null);
			return;
		}
		boolean withinLimit = this.unanswered.incrementAndGet() <= LIMIT;
		answer.whenComplete((result, failure) -> {
			this.unanswered.decrementAndGet();
			if (failure != null) {
				log(failure);
			}
			else if (this.failing.get()) {
				this.failing.set(false);
			}
			goOn.complete(null);
		});
		if (withinLimit) {
			goOn.complete(null);
		}
	}

	private void log(Throwable failure) {
		String message = CallResult.cause(failure).getMessage();
		if (this.failing.compareAndSet(false, true)) {
			logger.warn(
					message + ". Further releases that fail after close() are not logged until a release is answered");
		}
		else {
			logger.debug(message);
		}
	}

}
