package io.holdfast.engine.store;

import java.time.Duration;

/**
 * Limits of local hand-overs: a release hands a lock or permit over to the next waiter of
 * its instance without the store, while other instances may wait.
 *
 * @param maxCount the maximum number of local hand-overs after a grant by the store, less
 * than {@value #STRIDE}; 0 for none
 * @param maxTime the maximum time of local hand-overs after a grant by the store
 */
public record HandOverLimits(int maxCount, Duration maxTime) {

	/** Minimum distance between the fencing tokens of two grants by the store. */
	public static final int STRIDE = 64;

	public HandOverLimits {
		if (maxCount < 0 || maxCount >= STRIDE) {
			throw new IllegalArgumentException("maxCount must be from 0 to " + (STRIDE - 1) + ": " + maxCount);
		}
	}

	/** Return whether local hand-overs are allowed. */
	public boolean isOn() {
		return this.maxCount > 0 && !this.maxTime.isZero();
	}

	/**
	 * Default limits: enough to save most commands, and too short to be noticed by other
	 * instances.
	 */
	public static final HandOverLimits DEFAULT = new HandOverLimits(STRIDE - 1, Duration.ofMillis(5));

	/** No local hand-overs: the store grants each hold. */
	public static final HandOverLimits NONE = new HandOverLimits(0, Duration.ofMillis(5));

}
