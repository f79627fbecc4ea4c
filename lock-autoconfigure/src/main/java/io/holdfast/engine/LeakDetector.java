package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import io.holdfast.async.DaemonThreads;
import io.holdfast.async.SingleLine;
import io.holdfast.engine.store.Resource.Kind;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Logs a warning for each lease that is held for longer than a threshold, with the place
 * of its acquisition. A leaked lease would otherwise be renewed until the shutdown.
 * Thread-safe.
 */
public final class LeakDetector implements EngineObserver, AutoCloseable {

	private static final Log logger = LogFactory.getLog(LeakDetector.class);

	/** Classes between the user's code and the engine in a stack trace. */
	private static final Pattern BETWEEN = Pattern
		.compile("(java|jdk|javax|kotlin|kotlinx|reactor|io\\.reactivex|io\\.smallrye\\.mutiny|org\\.springframework"
				+ "|org\\.aopalliance)\\..*|.*\\$\\$.*"
				+ "|io\\.holdfast\\.((engine|aop|reactive)\\..*|async\\.Guard|\\w*(Service|Calls?))");

	private static final String CALLER_GONE = ". Its caller has gone (it cancelled, or timed out), and the method goes"
			+ " on: the lease ends when the future of the method is completed, or with its maxHold if it has one";

	/** Maximum time from the threshold to the warning. */
	private static final Duration MAX_DELAY = Duration.ofSeconds(5);

	private final Duration threshold;

	private final Duration delay;

	private final DaemonThreads threads = new DaemonThreads();

	private final ScheduledThreadPoolExecutor timer;

	/**
	 * Create the detector.
	 * @param threshold the time for which a lease may be held without a warning; zero for
	 * no warnings
	 */
	public LeakDetector(Duration threshold) {
		this.threshold = threshold;
		this.delay = (threshold.compareTo(MAX_DELAY) < 0) ? threshold : MAX_DELAY;
		this.timer = new ScheduledThreadPoolExecutor(1, (task) -> this.threads.create(task, "holdfast-leaks"));
		this.timer.setRemoveOnCancelPolicy(true);
	}

	/**
	 * Set the context class loader of this detector's thread.
	 * @param classLoader the application's class loader; {@code null}, the default, for
	 * the class loader of Holdfast's classes
	 */
	public void setClassLoader(@Nullable ClassLoader classLoader) {
		this.threads.setClassLoader(classLoader);
	}

	@Override
	public @Nullable RequestObserver requested(ObservedRequest request) {
		return this.threshold.isZero() ? null : new WatchedLease(request);
	}

	@Override
	public void close() {
		this.timer.shutdownNow();
	}

	/** A lease, from its grant to its end. */
	private final class WatchedLease implements RequestObserver {

		private final ObservedRequest request;

		private final AcquirePlace place = new AcquirePlace();

		private volatile @Nullable Future<?> warning;

		private volatile boolean ended;

		private volatile boolean warned;

		private volatile boolean callerGone;

		WatchedLease(ObservedRequest request) {
			this.request = request;
		}

		@Override
		public void granted(List<Long> fences) {
			// After a pause of the JVM, threshold and loss are due at the same time. The
			// delay leaves time to learn of the loss.
			schedule(() -> schedule(this::warn, LeakDetector.this.delay), LeakDetector.this.threshold);
		}

		private void schedule(Runnable action, Duration delay) {
			if (!LeakDetector.this.timer.isShutdown()) {
				this.warning = LeakDetector.this.timer.schedule(action, delay.toNanos(), TimeUnit.NANOSECONDS);
			}
		}

		private void warn() {
			if (this.ended) {
				return;
			}
			this.warned = true;
			logger.warn(
					describe() + " is still held after " + LeakDetector.this.threshold.toMillis()
							+ " ms (holdfast.leak-detection-threshold). It was acquired by thread "
							+ SingleLine.of(this.place.thread) + " at " + this.place.user()
							+ (this.callerGone ? CALLER_GONE
									: ". If its work takes as long as that, raise the threshold; if it, or a lease"
											+ " nested in it, is never released, use try-with-resources or withLock"),
					this.place);
		}

		@Override
		public void callerGone() {
			boolean known = this.callerGone;
			this.callerGone = true;
			if (!known && this.warned && !LeakDetector.this.timer.isShutdown()) {
				// Not on this thread: it may be an event loop, which logging would block.
				LeakDetector.this.timer.execute(() -> logger.warn(describe() + " is held for longer than "
						+ LeakDetector.this.threshold.toMillis() + " ms" + CALLER_GONE));
			}
		}

		@Override
		public void ended(HoldEnd end) {
			this.ended = true;
			Future<?> pending = this.warning;
			if (pending != null) {
				pending.cancel(false);
			}
			if (this.warned) {
				logger.info(describe() + ", which was still held after " + LeakDetector.this.threshold.toMillis()
						+ " ms, has ended now");
			}
		}

		private String describe() {
			String name = this.request.name();
			return ((this.request.kind() == Kind.SEMAPHORE) ? "A permit of semaphore '" : "Lock '") + SingleLine
				.of(String.join(", ", this.request.keys()) + "'" + ((name != null) ? " (" + name + ")" : ""));
		}

	}

	/** Place of an acquisition, as a stack trace. */
	private static final class AcquirePlace extends Exception {

		private static final long serialVersionUID = 1L;

		private final String thread = Thread.currentThread().getName();

		AcquirePlace() {
			super("The lease was acquired here");
		}

		/**
		 * Return the innermost frame of the user's code.
		 */
		String user() {
			return Stream.of(getStackTrace())
				.filter((frame) -> !BETWEEN.matcher(frame.getClassName()).matches())
				.findFirst()
				.map(StackTraceElement::toString)
				.orElse("an unknown place");
		}

	}

}
