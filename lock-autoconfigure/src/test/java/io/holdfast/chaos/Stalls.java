package io.holdfast.chaos;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Detects pauses of this process, or of an observed process, by a freeze or a busy
 * machine: events that are late by a pause are no violation.
 */
final class Stalls implements AutoCloseable {

	private static final long GLANCE = TimeUnit.MILLISECONDS.toNanos(20);

	private static final long STALL = TimeUnit.MILLISECONDS.toNanos(120);

	private final Runnable look;

	private final Listener listener;

	private volatile boolean closed;

	/**
	 * Observe repeatedly.
	 * @param look a check that takes no time except in a pause
	 * @param listener the receiver of pauses
	 */
	Stalls(Runnable look, Listener listener) {
		this.look = look;
		this.listener = listener;
	}

	/** Start on a thread of its own. */
	void start() {
		Thread watch = new Thread(this::watch, "stalls");
		watch.setDaemon(true);
		watch.start();
	}

	private void watch() {
		long before = System.nanoTime();
		while (!this.closed) {
			LockSupport.parkNanos(GLANCE);
			this.look.run();
			long now = System.nanoTime();
			if (now - before > STALL) {
				this.listener.stalled(before, now);
			}
			before = now;
		}
	}

	@Override
	public void close() {
		this.closed = true;
	}

	/** Receiver of pauses. */
	interface Listener {

		/** Called after a pause between two moments. */
		void stalled(long from, long until);

	}

}
