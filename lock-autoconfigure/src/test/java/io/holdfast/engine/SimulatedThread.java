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
 * Thread of a {@link SimulatedInstance}, for blocking calls. A real thread that takes
 * turns with its caller: the thread runs until its call ends or waits in virtual time.
 * Therefore only a single thread runs at a time.
 */
final class SimulatedThread extends Thread {

	/** Idle threads. Creating a thread costs more than a history. */
	private static final Queue<SimulatedThread> IDLE = new ConcurrentLinkedQueue<>();

	private static final int SPINS = 500;

	/** Whether this thread runs, and not its caller. */
	private volatile boolean running;

	private @Nullable Thread caller;

	private @Nullable Runnable call;

	/** Current use of views. */
	@Nullable ViewUse use;

	private @Nullable Throwable failure;

	/** Identity of the current wait. */
	private @Nullable Object wait;

	private boolean interrupted;

	private boolean abandoned;

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

	// For the caller

	boolean isBusy() {
		return this.call != null;
	}

	/** Run a call, which may continue later. */
	void call(Runnable call) {
		this.call = call;
		go();
	}

	/** Interrupt the thread, at once if it waits. */
	void interrupt(SimulatedInstance instance) {
		this.interrupted = true;
		Object current = this.wait;
		instance.at(0, () -> wake(current));
	}

	/** End the current call, and make the thread idle. */
	void recycle() {
		if (isBusy()) {
			this.abandoned = true;
			go();
		}
		this.abandoned = false;
		this.interrupted = false;
		IDLE.add(this);
	}

	private void go() {
		this.caller = Thread.currentThread();
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

	// On this thread

	@Override
	public void run() {
		while (true) {
			awaitTurn();
			try {
				if (this.call != null) {
					this.call.run();
				}
			}
			catch (Abandoned ex) {
				// The caller has ended the call.
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
		Thread last = this.caller;
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
		if (this.abandoned) {
			throw new Abandoned();
		}
		if (this.interrupted) {
			this.interrupted = false;
			Thread.currentThread().interrupt();
		}
	}

	/** Sleep in virtual time. */
	void sleep(SimulatedInstance instance, long nanos) {
		if (nanos > 0) {
			await(instance, new CompletableFuture<>(), nanos, new Object());
		}
	}

	/** Ends a call that is not continued. */
	private static final class Abandoned extends Error {

		private static final long serialVersionUID = 1L;

		Abandoned() {
			super(null, null, false, false);
		}

	}

}
