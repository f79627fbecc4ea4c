package io.holdfast.memory;

/**
 * The fencing tokens of one key: greater with each grant, and not less than the clock.
 */
final class MemoryFence {

	private final long stride;

	/** Not below any fence that was given out before this object was there. */
	private final long forgotten;

	private long last;

	MemoryFence(long stride, long nowMicros) {
		this.stride = stride;
		this.forgotten = nowMicros - 1;
	}

	/** Return the next fence, without taking it. */
	long next(long nowMicros) {
		return Math.max(this.last + this.stride, nowMicros);
	}

	long advance(long nowMicros) {
		this.last = next(nowMicros);
		return this.last;
	}

	/** Return the last one that was given out, 0 if none is remembered. */
	long last() {
		return this.last;
	}

	/** Return the last fence, for telling old hand-offs from new ones. */
	long lastOrForgotten() {
		return Math.max(this.last, this.forgotten);
	}

	/** Return whether the clock alone makes the next one greater. */
	boolean isDispensable(long nowMicros) {
		return this.last + this.stride < nowMicros;
	}

}
