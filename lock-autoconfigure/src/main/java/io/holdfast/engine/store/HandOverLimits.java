package io.holdfast.engine.store;

import java.time.Duration;

/**
 * Limits for how long a lock, or a permit, stays within one instance while others may
 * wait for it: its release hands it over to the next waiter here, without the store.
 *
 * @param maxCount how often at most after each grant by the store, less than
 * {@value #STRIDE}; 0 has the store grant each hold
 * @param maxTime for how long at most after each grant by the store
 */
public record HandOverLimits(int maxCount, Duration maxTime) {

	/** The distance of the fencing tokens of two grants by the store. */
	public static final int STRIDE = 64;

	public HandOverLimits {
		if (maxCount < 0 || maxCount >= STRIDE) {
			throw new IllegalArgumentException("maxCount must be from 0 to " + (STRIDE - 1) + ": " + maxCount);
		}
	}

	/** Return whether anything is passed on. */
	public boolean isOn() {
		return this.maxCount > 0 && !this.maxTime.isZero();
	}

	/** Long enough to save most commands, too short to be noticed by other instances. */
	public static final HandOverLimits DEFAULT = new HandOverLimits(STRIDE - 1, Duration.ofMillis(5));

	/** Every hold is granted by the store. */
	public static final HandOverLimits NONE = new HandOverLimits(0, Duration.ofMillis(5));

}
