package io.holdfast.engine;

import io.holdfast.async.SingleLine;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.LeaseStore.TokenState;
import org.jspecify.annotations.Nullable;

/**
 * Outcome of a forced release of a lock.
 *
 * @param held whether the lock had an owner or readers
 * @param released whether the lock was released
 * @param fence the lock's fencing token, 0 if the store has none or the owner is foreign
 * @param owner the exclusive holder, or {@code null}
 * @param thread the name of the holder's thread, or {@code null} if it was not a thread
 * of this instance
 */
public record ForcedResult(boolean held, boolean released, long fence, @Nullable TokenState owner,
		@Nullable String thread) {

	/**
	 * Return whether a fencing token belongs to this grant. An instance increments the
	 * token at each local hand-over of an exclusive lock, without telling the store.
	 * @param fencingToken the fencing token that the caller has seen
	 * @return whether the token is that of the owner, of an earlier holder in the same
	 * chain of local hand-overs, or of the last reader
	 */
	public boolean isGrantOf(long fencingToken) {
		long passedOn = (this.owner != null) ? HandOverLimits.STRIDE - 1 : 0;
		return fencingToken >= this.fence && fencingToken - this.fence <= passedOn;
	}

	/**
	 * Return this outcome with another value of {@code released}.
	 * @param released whether the lock was released
	 * @return the outcome
	 */
	public ForcedResult released(boolean released) {
		return new ForcedResult(this.held, released, this.fence, this.owner, this.thread);
	}

	/**
	 * Return a description of the holder, for the end of a message.
	 * @param process a description of the instance's process with a leading space, or an
	 * empty text
	 * @param reported the name of the holder's thread as reported by its instance, or
	 * {@code null}
	 * @return the description with a leading comma, or an empty text
	 */
	public String describe(String process, @Nullable String reported) {
		String whose = (this.thread != null) ? this.thread : reported;
		return ((this.owner != null) ? ", instance " + this.owner.instance() + process : "")
				+ ((whose != null) ? ", thread '" + SingleLine.of(whose) + "'" : "")
				+ ((this.fence > 0) ? ", fencing token " + this.fence : "");
	}

}
