package io.holdfast.redis.notify;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

import io.holdfast.async.DaemonThreads;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The one thread that all state of the subscriptions of an instance belongs to.
 * Thread-safe.
 */
final class NotificationThread {

	private static final Log logger = LogFactory.getLog(NotificationThread.class);

	private final CompletableFuture<@Nullable Void> end = new CompletableFuture<>();

	private final DaemonThreads threads;

	private final ScheduledThreadPoolExecutor executor;

	NotificationThread(DaemonThreads threads) {
		this.threads = threads;
		this.executor = new ScheduledThreadPoolExecutor(1, (task) -> threads.create(task, "holdfast-wake-up")) {

			@Override
			protected void terminated() {
				NotificationThread.this.end.complete(null);
			}

		};
		this.executor.setRemoveOnCancelPolicy(true);
	}

	/** Run an action, unless this is closed. */
	void execute(Runnable action) {
		try {
			this.executor.execute(guarded(action));
		}
		catch (RejectedExecutionException ex) {
			// Closed.
		}
	}

	/** Run an action later, unless this is closed by then, or now: {@code null}. */
	@Nullable Future<?> later(Runnable action, long millis) {
		try {
			return this.executor.schedule(guarded(action), millis, TimeUnit.MILLISECONDS);
		}
		catch (RejectedExecutionException ex) {
			return null;
		}
	}

	boolean isClosed() {
		return this.executor.isShutdown();
	}

	/** Wait until this is closed and nothing runs any more. Does not block. */
	CompletableFuture<@Nullable Void> awaitEnd() {
		return this.end;
	}

	void close() {
		this.executor.shutdownNow();
	}

	/**
	 * Run a call of a driver, which may block.
	 */
	void inBackground(Runnable action) {
		this.threads.start(action, "holdfast-subscription");
	}

	/** Log an action's exception: a driver's thread, for one, must not end by it. */
	static Runnable guarded(Runnable action) {
		return () -> {
			try {
				action.run();
			}
			catch (RuntimeException ex) {
				logger.warn("Handling a wake-up failed", ex);
			}
		};
	}

}
