package io.holdfast.engine;

import io.holdfast.async.SingleLine;
import io.holdfast.engine.store.FleetStore.TokenState;
import io.holdfast.engine.store.HandOverLimits;
import org.jspecify.annotations.Nullable;

/**
 * The outcome of a forced release of a lock.
 *
 * @param held whether it had an owner or readers
 * @param released whether it was released
 * @param fence its fencing token, 0 if none is remembered or its owner is foreign
 * @param owner the instance that had it exclusively, or {@code null}
 * @param thread the name of the thread whose lease it was, if it was one of this
 * instance, or {@code null}
 */
public record ForcedResult(boolean held, boolean released, long fence, @Nullable TokenState owner,
		@Nullable String thread) {

	/**
	 * Return whether a fencing token is of this grant. An instance counts up when it
	 * passes an exclusive lock on, which the store does not learn.
	 * @param fencingToken the fencing token that was seen
	 * @return whether it is that of the owner, of one before within the same instance, or
	 * of the last reader
	 */
	public boolean isGrantOf(long fencingToken) {
		long passedOn = (this.owner != null) ? HandOverLimits.STRIDE - 1 : 0;
		return fencingToken >= this.fence && fencingToken - this.fence <= passedOn;
	}

	/**
	 * Return the same with its end.
	 * @param released whether it was released
	 * @return the outcome
	 */
	public ForcedResult released(boolean released) {
		return new ForcedResult(this.held, released, this.fence, this.owner, this.thread);
	}

	/**
	 * Return whose it was, to be put behind other text.
	 * @param process which process the instance is, with a space before, or nothing
	 * @param reported the name of the thread that the instance told, or {@code null}
	 * @return the words, which begin with a comma, or nothing
	 */
	public String describe(String process, @Nullable String reported) {
		String whose = (this.thread != null) ? this.thread : reported;
		return ((this.owner != null) ? ", instance " + this.owner.instance() + process : "")
				+ ((whose != null) ? ", thread '" + SingleLine.of(whose) + "'" : "")
				+ ((this.fence > 0) ? ", fencing token " + this.fence : "");
	}

}
