package io.holdfast.engine;

/**
 * The hand-overs of one grant of the store, from hold to hold within this instance.
 *
 * @param grantedByStoreAt when the store made the grant
 * @param handOvers how many there were
 */
record HandOverHistory(long grantedByStoreAt, int handOvers) {

	HandOverHistory plusOne() {
		return new HandOverHistory(this.grantedByStoreAt, this.handOvers + 1);
	}

}
