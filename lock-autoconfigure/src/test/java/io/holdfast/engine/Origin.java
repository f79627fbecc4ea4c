package io.holdfast.engine;

import java.util.List;

import io.holdfast.Lease;

/**
 * Origin of a key of a lease, for tests of other packages.
 *
 * @param key the key
 * @param token the token in the store
 * @param handOvers the number of hand-overs since the grant of the store
 */
public record Origin(String key, String token, int handOvers) {

	/**
	 * Return the origin of each key of a lease.
	 * @param lease an open lease of this project
	 * @return the origins
	 */
	public static List<Origin> of(Lease lease) {
		return ((EngineLease) lease).openHolds()
			.stream()
			.map((hold) -> new Origin(hold.resource().key(), hold.token, hold.handOvers))
			.toList();
	}

}
