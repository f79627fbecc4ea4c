package io.holdfast.engine;

import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;

/**
 * A thread of a {@link SimulatedInstance}, for what blocks. It is a real one, but runs
 * only while who lets it run waits for it: until it waits for something itself, in
 * virtual time, or is through. So one thing happens after another all the same.
 */
final class SimulatedThread extends Thread {

	/** They cost more than a history does. */
	private static final Queue<SimulatedThread> IDLE = new ConcurrentLinkedQueue<>();

	private static final int SPINS = 500;

	/** Whose turn it is: this thread's, or that of who lets it run. */
	private volatile boolean running;

	private @Nullable Thread other;

	private @Nullable Runnable call;

	/** What it is used for. */
	@Nullable ViewUse use;

	private @Nullable Throwable failure;

	/** What it waits for, a new one each time. */
	private @Nullable Object wait;

	private boolean interrupted;

	private boolean over;

	private SimulatedThread() {
		super("simulated");
		setDaemon(true);
		start();
	}

	static SimulatedThread take() {
		SimulatedThread idle = IDLE.poll();
		return (idle != null) ? idle : new SimulatedThread();
	}

	static @Nullable SimulatedThread current() {
		return (Thread.currentThread() instanceof SimulatedThread thread) ? thread : null;
	}

	// For who lets it run

	boolean isBusy() {
		return this.call != null;
	}

	/** Have it do something, which it may go on with later. */
	void call(Runnable call) {
		this.call = call;
		go();
	}

	/** Interrupt it, now if it waits. */
	void interrupt(SimulatedInstance instance) {
		this.interrupted = true;
		Object current = this.wait;
		instance.at(0, () -> wake(current));
	}

	/** Nothing is wanted of it any more: let others have it. */
	void giveBack() {
		if (isBusy()) {
			this.over = true;
			go();
		}
		this.over = false;
		this.interrupted = false;
		IDLE.add(this);
	}

	private void go() {
		this.other = Thread.currentThread();
		this.running = true;
		LockSupport.unpark(this);
		for (int i = 0; this.running; i++) {
			pause(i);
		}
		Throwable thrown = this.failure;
		this.failure = null;
		if (thrown != null) {
			throw new IllegalStateException(thrown);
		}
	}

	private static void pause(int count) {
		if (count < SPINS) {
			Thread.onSpinWait();
		}
		else {
			LockSupport.park();
		}
	}

	private void wake(@Nullable Object waiting) {
		if (waiting != null && this.wait == waiting) {
			go();
		}
	}

	// By itself

	@Override
	public void run() {
		while (true) {
			awaitTurn();
			try {
				if (this.call != null) {
					this.call.run();
				}
			}
			catch (Over ex) {
				// So it is.
			}
			catch (Throwable ex) {
				this.failure = ex;
			}
			this.call = null;
			Thread.interrupted();
			endTurn();
		}
	}

	private void awaitTurn() {
		for (int i = 0; !this.running; i++) {
			pause(i);
		}
	}

	private void endTurn() {
		Thread last = this.other;
		this.running = false;
		LockSupport.unpark(last);
	}

	/** Wait as {@link CompletableFuture#get} does. */
	<T> T await(SimulatedInstance instance, CompletableFuture<T> future, long nanos)
			throws InterruptedException, ExecutionException, TimeoutException {
		if (!future.isDone()) {
			if (Thread.interrupted()) {
				throw new InterruptedException();
			}
			await(instance, future, nanos, new Object());
			if (!future.isDone()) {
				if (Thread.interrupted()) {
					throw new InterruptedException();
				}
				throw new TimeoutException();
			}
		}
		return future.get();
	}

	private void await(SimulatedInstance instance, CompletableFuture<?> future, long nanos, Object current) {
		this.wait = current;
		Future<?> timer = instance.schedule(() -> wake(current), nanos);
		future.whenComplete((result, error) -> instance.at(0, () -> wake(current)));
		endTurn();
		awaitTurn();
		this.wait = null;
		timer.cancel(false);
		if (this.over) {
			throw new Over();
		}
		if (this.interrupted) {
			this.interrupted = false;
			Thread.currentThread().interrupt();
		}
	}

	/** Do nothing for a time. */
	void sleep(SimulatedInstance instance, long nanos) {
		if (nanos > 0) {
			await(instance, new CompletableFuture<>(), nanos, new Object());
		}
	}

	/** What it was at is not gone on with. */
	private static final class Over extends Error {

		private static final long serialVersionUID = 1L;

		Over() {
			super(null, null, false, false);
		}

	}

}
