package io.holdfast.engine.lease;

import io.holdfast.engine.observe.EngineObserver.HandOver;

/**
 * The hand-overs of one grant of the store, from hold to hold within this instance.
 *
 * @param grantedByStoreAt when the store made the grant
 * @param handOvers how many there were
 * @param turns how many of them were to a request that had waited. One that barges before
 * a thread wakes up takes no turn, as the permits would have lain idle
 */
public record HandOverHistory(long grantedByStoreAt, int handOvers, int turns) {

	HandOverHistory plus(HandOver way) {
		return new HandOverHistory(this.grantedByStoreAt, this.handOvers + 1,
				(way == HandOver.BARGED) ? this.turns : this.turns + 1);
	}

}
