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

	/** That of all calls on this thread; also the lock for all that follows. */
	private final LossInterrupt outermost;

	private final Thread thread = Thread.currentThread();

	private boolean running = true;

	private boolean lost;

	/** Whether the interrupt of the thread is ours; of the outermost. */
	private boolean ours;

	/** Begin to run a method on the current thread. */
	LossInterrupt() {
		this.outer = INNERMOST.get();
		this.outermost = (this.outer != null) ? this.outer.outermost : this;
		INNERMOST.set(this);
	}

	/** Interrupt the thread, as the lease is lost. */
	void lost() {
		synchronized (this.outermost) {
			if (this.running) {
				this.lost = true;
				interrupt();
			}
		}
	}

	private void interrupt() {
		if (!this.thread.isInterrupted()) {
			this.outermost.ours = true;
			this.thread.interrupt();
		}
	}

	/** Take back the interrupt, as the method has ended. Called by its thread. */
	void end() {
		synchronized (this.outermost) {
			this.running = false;
			if (this.lost && this.outermost.ours) {
				this.outermost.ours = false;
				Thread.interrupted();
			}
			if (this.lost && isOuterLost()) {
				interrupt();
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

}
