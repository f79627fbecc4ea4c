package io.holdfast.engine;

import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.holdfast.async.BlockingWait;

/**
 * Scripted clock, which runs due actions when a test advances the time.
 */
abstract class ScriptedClock implements Scheduler {

	private final PriorityQueue<Planned> planned = new PriorityQueue<>();

	long now = 1_000_000_000_000L;

	/** Runs once, during the next reading of the clock. */
	public Runnable whileReadingTheClock = () -> {
	};

	/** Whether each reading advances the time, as in reality. */
	public boolean isMoving;

	public void elapse(long millis) {
		long until = this.now + TimeUnit.MILLISECONDS.toNanos(millis);
		while (!this.planned.isEmpty() && this.planned.peek().at - until <= 0) {
			Planned next = this.planned.remove();
			this.now = Math.max(this.now, next.at);
			next.action.run();
		}
		this.now = until;
	}

	/** Advance the time without due actions, as in a pause of the process. */
	public void pause(long millis) {
		this.now += TimeUnit.MILLISECONDS.toNanos(millis);
	}

	/** Return the number of scheduled actions. */
	public int plannedCount() {
		return this.planned.size();
	}

	@Override
	public long nanoTime() {
		Runnable action = this.whileReadingTheClock;
		this.whileReadingTheClock = () -> {
		};
		action.run();
		return this.isMoving ? this.now++ : this.now;
	}

	@Override
	public <T> T waitUntil(CompletableFuture<T> future, long until)
			throws InterruptedException, ExecutionException, TimeoutException {
		return BlockingWait.get(future, until - nanoTime());
	}

	@Override
	public Future<?> schedule(Runnable action, long delayNanos) {
		Planned plan = new Planned(this.now + Math.max(0, delayNanos), action);
		this.planned.add(plan);
		CompletableFuture<?> timer = new CompletableFuture<>();
		timer.whenComplete((never, cancelled) -> this.planned.remove(plan));
		return timer;
	}

	private record Planned(long at, Runnable action) implements Comparable<Planned> {

		@Override
		public int compareTo(Planned other) {
			return Long.compare(this.at, other.at);
		}

	}

}
