package io.holdfast.testing;

import java.util.List;
import java.util.stream.Stream;

/**
 * Order of grants with and without local hand-over, for tests that have to pass with
 * both.
 */
public enum Order {

	/**
	 * An instance hands leases over among its threads, without Redis, a limited number of
	 * times.
	 */
	LOCAL_HAND_OVER(Stream.of("lock", "semaphore")
		.map((kind) -> "holdfast." + kind + ".local-hand-over.max-count=16")
		.toList()),

	/** No local hand-over: Redis grants each lease. */
	STRICT(TestApplication.STRICT_ORDER);

	private final List<String> properties;

	Order(List<String> properties) {
		this.properties = properties;
	}

	/**
	 * Return the properties for this order.
	 * @return the properties, as {@code name=value}
	 */
	public String[] properties() {
		return this.properties.toArray(String[]::new);
	}

}
