package io.holdfast.chaos;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Notices when this process did not run for a while, whether it was frozen or the machine
 * was busy: what is late then is not late by its own fault.
 */
final class Stalls {

	private static final long GLANCE = TimeUnit.MILLISECONDS.toNanos(20);

	private static final long STALL = TimeUnit.MILLISECONDS.toNanos(200);

	private final Listener listener;

	Stalls(Listener listener) {
		this.listener = listener;
	}

	void start() {
		Thread watch = new Thread(this::watch, "stalls");
		watch.setDaemon(true);
		watch.start();
	}

	private void watch() {
		long before = System.nanoTime();
		while (!Thread.currentThread().isInterrupted()) {
			LockSupport.parkNanos(GLANCE);
			long now = System.nanoTime();
			if (now - before > STALL) {
				this.listener.stalled(before, now);
			}
			before = now;
		}
	}

	/** Who is told. */
	interface Listener {

		/** Between two moments, this process did next to nothing. */
		void stalled(long from, long until);

	}

}
