package io.holdfast.test;

import java.time.Duration;
import java.util.Comparator;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

import io.holdfast.async.BlockingWait;
import io.holdfast.async.DaemonThreads;
import io.holdfast.engine.Scheduler;
import io.holdfast.engine.ThreadScheduler;
import org.jspecify.annotations.Nullable;

/**
 * Clock of locks and permits in memory, which tests can advance: leases, wait times and
 * {@code minHold} end without waiting. The clock also runs by itself. The application's
 * own code does not use this clock. A bean of tests with {@link AutoConfigureHoldfast}.
 * Thread-safe.
 *
 * @since 0.1.0
 */
public final class HoldfastClock {

	private static final Duration PATIENCE = Duration.ofMinutes(1);

	private static final Duration MAX_ADVANCE = Duration.ofDays(36_500);

	private final ThreadScheduler threads;

	private final Scheduler scheduler = new ClockScheduler();

	private final TreeSet<PendingAction> pending = new TreeSet<>(
			Comparator.comparingLong(PendingAction::dueAt).thenComparingLong(PendingAction::number));

	private final long startedAt = System.nanoTime();

	/** Time by which the clock was advanced. */
	private volatile long advancedNanos;

	private long numbers;

	private @Nullable Future<?> timer;

	private boolean closed;

	/** Source of a future that is completed when the engine has processed its events. */
	private volatile Supplier<CompletableFuture<?>> work = () -> CompletableFuture.completedFuture(null);

	private final CompletableFuture<@Nullable Void> end = new CompletableFuture<>();

	/**
	 * Held by the thread that advances the clock. Another thread would advance the clock
	 * past actions that have not run yet.
	 */
	private final ReentrantLock advancing = new ReentrantLock();

	/**
	 * Create a clock, initially with the time of the JVM.
	 * @param classLoader the class loader of the application
	 */
	HoldfastClock(@Nullable ClassLoader classLoader) {
		DaemonThreads daemons = new DaemonThreads();
		daemons.setClassLoader(classLoader);
		this.threads = new ThreadScheduler(daemons);
	}

	/**
	 * Let time pass, with all due actions in between. Renewed leases stay held. Leases
	 * without renewal, {@code maxHold}, {@code minHold} and wait times end in time.
	 * Blocks until the engine has processed all this. Listeners and woken threads may run
	 * later.
	 * @param time the time, not negative; together with earlier calls at most 36,500 days
	 * @throws IllegalArgumentException if the time is negative or too long
	 * @throws IllegalStateException if the application context is closed
	 * @throws java.util.concurrent.CompletionException if the engine is busy for more
	 * than a minute
	 */
	public void advance(Duration time) {
		this.advancing.lock();
		try {
			advanceTo(now() + nanos(time));
		}
		finally {
			this.advancing.unlock();
		}
	}

	/**
	 * Let time pass as if the whole JVM was paused: nothing is renewed. Leases that end
	 * in this time are lost. Blocks until the engine has processed the losses. Listeners
	 * may run later.
	 * @param time the time, not negative; together with earlier calls at most 36,500 days
	 * @throws IllegalArgumentException if the time is negative or too long
	 * @throws IllegalStateException if the application context is closed
	 * @throws java.util.concurrent.CompletionException if the engine is busy for more
	 * than a minute
	 */
	public void freeze(Duration time) {
		this.advancing.lock();
		try {
			long nanos = nanos(time);
			synchronized (this) {
				this.advancedNanos += nanos;
			}
			advanceTo(now());
		}
		finally {
			this.advancing.unlock();
		}
	}

	private void advanceTo(long target) {
		while (advanceToFirstAction(target)) {
			runFirst();
		}
	}

	private long nanos(Duration time) {
		if (time.isNegative()) {
			throw new IllegalArgumentException("A clock cannot be turned back: " + time + " is negative");
		}
		if (time.compareTo(MAX_ADVANCE.minusNanos(this.advancedNanos)) > 0) {
			throw new IllegalArgumentException("A clock cannot be turned by more than " + MAX_ADVANCE.toDays()
					+ " days, in all: " + time + " is too long");
		}
		return time.toNanos();
	}

	private long now() {
		return System.nanoTime() - this.startedAt + this.advancedNanos;
	}

	/**
	 * Advance the clock to the first action that is due until a time, or to that time if
	 * there is none.
	 * @return whether there is such an action
	 */
	private synchronized boolean advanceToFirstAction(long target) {
		if (this.closed) {
			throw new IllegalStateException("The clock cannot be turned: its application context is closed");
		}
		boolean found = !this.pending.isEmpty() && this.pending.first().dueAt() <= target;
		this.advancedNanos += Math.max(0, (found ? this.pending.first().dueAt() : target) - now());
		rearm();
		return found;
	}

	/** Run the first action on the thread of all timers, if the action is due. */
	private void runFirst() {
		CompletableFuture<@Nullable Void> done = new CompletableFuture<>();
		this.threads.schedule(() -> {
			try {
				runIfDue();
			}
			finally {
				done.complete(null);
			}
		}, 0);
		await(done);
		// Another thread may still process the events of the action.
		await(this.work.get());
	}

	private void await(CompletableFuture<?> done) {
		// After the end of the context, timers do not run any more.
		CompletableFuture.anyOf(done, this.end).orTimeout(PATIENCE.toNanos(), TimeUnit.NANOSECONDS).join();
	}

	private void runIfDue() {
		PendingAction first;
		synchronized (this) {
			first = (!this.pending.isEmpty() && this.pending.first().dueAt() <= now()) ? this.pending.pollFirst()
					: null;
			rearm();
		}
		if (first != null) {
			first.action().run();
		}
	}

	private synchronized void rearm() {
		if (this.timer != null) {
			this.timer.cancel(false);
		}
		this.timer = this.pending.isEmpty() ? null
				: this.threads.schedule(this::runIfDue, this.pending.first().dueAt() - now());
	}

	/**
	 * Set the source of the engine's work, during which the clock is not advanced
	 * further: otherwise, waiters would take the engine for unresponsive.
	 * @param done the source of a future that is completed when the engine has processed
	 * its events
	 */
	void waitFor(Supplier<CompletableFuture<?>> done) {
		this.work = done;
	}

	/** Return the scheduler of the engine, with the time of this clock. */
	Scheduler scheduler() {
		return this.scheduler;
	}

	/** Return the executor of listeners and of users' continuations. */
	Executor callbacks() {
		return this.threads.callbacks();
	}

	/** End the threads of this clock. */
	synchronized void close() {
		this.closed = true;
		this.threads.close();
		this.end.complete(null);
	}

	private record PendingAction(long dueAt, long number, Runnable action) {
	}

	private final class ClockScheduler implements Scheduler {

		@Override
		public long nanoTime() {
			return now();
		}

		@Override
		public Future<?> schedule(Runnable action, long delayNanos) {
			synchronized (HoldfastClock.this) {
				// An overflow would be a time in the past.
				long delay = Math.min(Math.max(0, delayNanos), Long.MAX_VALUE / 2);
				PendingAction added = new PendingAction(now() + delay, HoldfastClock.this.numbers++, action);
				HoldfastClock.this.pending.add(added);
				rearm();
				CompletableFuture<?> timer = new CompletableFuture<>();
				timer.whenComplete((never, cancelled) -> cancel(added));
				return timer;
			}
		}

		@Override
		public <T> T waitUntil(CompletableFuture<T> future, long until)
				throws InterruptedException, ExecutionException, TimeoutException {
			return BlockingWait.get(future, until - nanoTime());
		}

		private void cancel(PendingAction action) {
			synchronized (HoldfastClock.this) {
				HoldfastClock.this.pending.remove(action);
			}
		}

	}

}
