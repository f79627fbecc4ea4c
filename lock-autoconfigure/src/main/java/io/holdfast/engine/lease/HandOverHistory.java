package io.holdfast.engine.lease;

/**
 * The hand-overs of one grant of the store, from hold to hold within this instance.
 *
 * @param grantedByStoreAt when the store made the grant
 * @param fences how many fencing tokens the store left for them, that of the grant
 * included
 * @param handOvers how many there were
 */
public record HandOverHistory(long grantedByStoreAt, int fences, int handOvers) {

	HandOverHistory plusOne() {
		return new HandOverHistory(this.grantedByStoreAt, this.fences, this.handOvers + 1);
	}

}
