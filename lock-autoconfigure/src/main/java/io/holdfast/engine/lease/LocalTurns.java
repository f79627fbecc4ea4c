package io.holdfast.engine.lease;

import io.holdfast.engine.observe.EngineObserver.HandOver;

/**
 * The way of a grant from one hold to the next within this instance.
 *
 * @param storedAt when the store granted it
 * @param fences how many fences the store left for that, its own included
 * @param passes how often it was passed on since
 * @param turns how often of these to a request that had waited. A request that barges
 * before a thread wakes up takes no turn, as the permits would have lain idle
 */
public record LocalTurns(long storedAt, int fences, int passes, int turns) {

	LocalTurns next(HandOver way) {
		return new LocalTurns(this.storedAt, this.fences, this.passes + 1,
				(way == HandOver.BARGED) ? this.turns : this.turns + 1);
	}

}
