package io.holdfast.engine;

import java.util.List;

import io.holdfast.Lease;

/**
 * Lets tests of other packages see where a lease comes from.
 *
 * @param key of what it is
 * @param token by which the store knows it
 * @param passes how often it was passed on since the store granted it
 */
public record Origin(String key, String token, int passes) {

	/**
	 * Of each key of a lease.
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
