package io.holdfast.aop;

import org.jspecify.annotations.Nullable;

/**
 * Interrupts the thread of a method when the method's lease is lost. If the interrupt
 * flag is still set at the end of the method, it is cleared. An interrupt by other code
 * before the loss is kept. An interrupt by other code after the loss is cleared, too, as
 * a thread has one flag for both; the caller then gets the exception of the loss.
 * Thread-safe, except for {@link #end}.
 */
final class LossInterrupt {

	private static final ThreadLocal<LossInterrupt> INNERMOST = new ThreadLocal<>();

	/** Interrupt of the calling method on the same thread, or {@code null}. */
	private final @Nullable LossInterrupt outer;

	/**
	 * Outermost interrupt of this thread, which is also the lock for the fields below.
	 */
	private final LossInterrupt outermost;

	private final Thread thread = Thread.currentThread();

	private boolean running = true;

	private boolean lost;

	/** Whether a loss has set the thread's interrupt flag. Used in the outermost only. */
	private boolean setByLoss;

	/** Begin the run of a method on the current thread. */
	LossInterrupt() {
		this.outer = INNERMOST.get();
		this.outermost = (this.outer != null) ? this.outer.outermost : this;
		INNERMOST.set(this);
	}

	/** Interrupt the thread because of a loss, if the method still runs. */
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
			this.outermost.setByLoss = true;
			this.thread.interrupt();
		}
	}

	/**
	 * End the run of the method, and clear the interrupt of the loss. Called on the
	 * method's thread.
	 */
	void end() {
		synchronized (this.outermost) {
			this.running = false;
			if (this.lost && this.outermost.setByLoss) {
				this.outermost.setByLoss = false;
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
