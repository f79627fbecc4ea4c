package io.holdfast.aop;

import org.jspecify.annotations.Nullable;

/**
 * Interrupts the thread that runs a method when the method's lease is lost, but only
 * while it runs: an interrupt of the loss that is left when the method ends is taken
 * back. An interrupt from outside is kept if it comes before that of the loss. A later
 * one is taken back, too, as a thread has one flag for both; the caller then has the
 * exception of the loss. Thread-safe, but for {@link #end}.
 */
final class LossInterrupt {

	private static final ThreadLocal<LossInterrupt> INNERMOST = new ThreadLocal<>();

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
		synchronized (this.flag) {
			if (this.running) {
				this.lost = true;
				this.flag.set();
			}
		}
	}

	/** Take back the interrupt, as the method has ended. Called by its thread. */
	void end() {
		synchronized (this.flag) {
			this.running = false;
			if (this.lost) {
				this.flag.clear();
				if (isOuterLost()) {
					this.flag.set();
				}
			}
		}
		if (this.outer != null) {
			INNERMOST.set(this.outer);
		}
		else {
			INNERMOST.remove();
		}
	}

	private boolean isOuterLost() {
		return this.outer != null && (this.outer.lost || this.outer.isOuterLost());
	}

	/**
	 * The interrupt flag of a thread, and whether it is ours.
	 */
	private static final class Flag {

		private final Thread thread;

		private boolean ours;

		Flag(Thread thread) {
			this.thread = thread;
		}

		void set() {
			if (!this.thread.isInterrupted()) {
				this.ours = true;
				this.thread.interrupt();
			}
		}

		void clear() {
			if (this.ours) {
				this.ours = false;
				Thread.interrupted();
			}
		}

	}

}
