package io.holdfast.aop;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import io.holdfast.async.DaemonThreads;
import org.jspecify.annotations.Nullable;

/**
 * Interrupts the thread that runs a method when the method's lease is lost, but only
 * while it runs: an interrupt of the loss that is left when the method ends is taken
 * back. Interrupts from outside are kept, also after the loss, if the method has noticed
 * the loss before: a thread has one flag for both. Thread-safe, but for {@link #end}.
 */
final class LossInterrupt {

	private static final ThreadLocal<LossInterrupt> INNERMOST = new ThreadLocal<>();

	private static final DaemonThreads THREADS = new DaemonThreads();

	/** That of a method that called this one, on the same thread. */
	private final @Nullable LossInterrupt outer;

	/** Also the lock for all that follows; common to all calls on this thread. */
	private final Flag flag;

	private boolean running = true;

	private boolean lost;

	/** Begin to run a method on the current thread. */
	LossInterrupt() {
		this.outer = INNERMOST.get();
		this.flag = (this.outer != null) ? this.outer.flag : new Flag(Thread.currentThread());
		INNERMOST.set(this);
	}

	/** Interrupt the thread, as the lease is lost. */
	void lost() {
		boolean interrupted = false;
		synchronized (this.flag) {
			if (this.running) {
				this.lost = true;
				interrupted = this.flag.set();
			}
		}
		if (interrupted) {
			this.flag.watch();
		}
	}

	/**
	 * Take back the interrupt, as the method has ended. Called by its thread.
	 * @param failure the failure of the method, or {@code null}
	 */
	void end(@Nullable Throwable failure) {
		boolean interrupted;
		synchronized (this.flag) {
			this.running = false;
			if (this.lost) {
				this.flag.clear(isReported(failure));
			}
			interrupted = this.lost && isOuterLost() && this.flag.set();
		}
		if (interrupted) {
			this.flag.watch();
		}
		if (this.outer != null) {
			INNERMOST.set(this.outer);
		}
		else {
			INNERMOST.remove();
		}
	}

	/**
	 * Return whether a failure reports an interrupt: such code sets the flag again, which
	 * an {@link InterruptedException} itself does not need.
	 */
	private static boolean isReported(@Nullable Throwable failure) {
		for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
			if (cause.getCause() instanceof InterruptedException) {
				return true;
			}
		}
		return false;
	}

	private boolean isOuterLost() {
		return this.outer != null && (this.outer.lost || this.outer.isOuterLost());
	}

	/**
	 * The interrupt flag of a thread, and whether it is ours.
	 */
	private static final class Flag {

		/** Between two looks. */
		private static final long PAUSE = TimeUnit.MILLISECONDS.toNanos(1);

		/** How often it has to be clear. The thread may have to wait for a processor. */
		private static final int LOOKS = 10;

		/**
		 * The flags that one thread watches: thousands of methods may ignore their
		 * interrupts. Guarded by itself, before any flag.
		 */
		private static final Set<Flag> WATCHED = new HashSet<>();

		private final Thread thread;

		private boolean ours;

		/**
		 * The reason of its wait when it was interrupted, or the first one after that.
		 */
		private @Nullable Object wait;

		/** How often it was clear, outside of that wait, at the last looks. */
		private int cleared;

		Flag(Thread thread) {
			this.thread = thread;
		}

		/**
		 * Interrupt the thread, unless it is interrupted already.
		 * @return whether the flag is to be watched
		 */
		boolean set() {
			if (this.thread.isInterrupted()) {
				return false;
			}
			this.ours = true;
			this.cleared = 0;
			this.wait = LockSupport.getBlocker(this.thread);
			this.thread.interrupt();
			return true;
		}

		/** Watch for the end of our interrupt. */
		void watch() {
			boolean first;
			synchronized (WATCHED) {
				first = WATCHED.isEmpty();
				WATCHED.add(this);
			}
			if (first) {
				THREADS.start(Flag::watchAll, "holdfast-interrupts");
			}
		}

		private static void watchAll() {
			while (true) {
				synchronized (WATCHED) {
					WATCHED.removeIf((flag) -> !flag.remainsOurs());
					if (WATCHED.isEmpty()) {
						return;
					}
				}
				LockSupport.parkNanos(PAUSE);
			}
		}

		/**
		 * Look at the flag again. Code that clears it, and sets it again for its caller,
		 * does so at once: it has to stay clear. So does a wait that goes on, as for a
		 * {@code ReentrantLock}, at its end.
		 * @return whether it is still ours
		 */
		private synchronized boolean remainsOurs() {
			boolean clear = !this.thread.isInterrupted();
			Object current = LockSupport.getBlocker(this.thread);
			if (clear && this.wait == null) {
				this.wait = current;
			}
			boolean waiting = current != null && current == this.wait;
			this.cleared = (clear && !waiting) ? this.cleared + 1 : 0;
			if (this.cleared >= LOOKS) {
				this.ours = false;
			}
			return this.ours;
		}

		void clear(boolean reported) {
			if (this.ours || reported) {
				this.ours = false;
				Thread.interrupted();
			}
		}

	}

}
