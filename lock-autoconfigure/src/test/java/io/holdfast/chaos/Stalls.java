package io.holdfast.chaos;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Notices when this process, or what it looks at, did not run for a while, whether it was
 * frozen or the machine was busy: what is late then is not late by its own fault.
 */
final class Stalls implements AutoCloseable {

	private static final long GLANCE = TimeUnit.MILLISECONDS.toNanos(20);

	private static final long STALL = TimeUnit.MILLISECONDS.toNanos(120);

	private final Runnable look;

	private final Listener listener;

	private volatile boolean closed;

	/**
	 * Look again and again.
	 * @param look what takes no time unless something stands still
	 * @param listener who is told
	 */
	Stalls(Runnable look, Listener listener) {
		this.look = look;
		this.listener = listener;
	}

	/** Begin, on a thread of its own. */
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

	/** Who is told. */
	interface Listener {

		/** Between two moments, something did next to nothing. */
		void stalled(long from, long until);

	}

}
