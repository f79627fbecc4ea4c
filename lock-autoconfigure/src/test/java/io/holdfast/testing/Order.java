package io.holdfast.testing;

import java.util.List;
import java.util.stream.Stream;

/**
 * Whether instances pass on what they hold among their own threads. For tests that have
 * to hold either way, whichever is the default.
 */
public enum Order {

	/** A few times, without Redis, before others have their turn. */
	LOCAL_HAND_OVER(Stream.of("lock", "semaphore")
		.map((kind) -> "holdfast." + kind + ".local-hand-over.max-count=16")
		.toList()),

	/** Never: Redis grants each lease. */
	STRICT(TestApplication.STRICT_ORDER);

	private final List<String> properties;

	Order(List<String> properties) {
		this.properties = properties;
	}

	/**
	 * What makes instances do so.
	 * @return properties, {@code name=value}
	 */
	public String[] properties() {
		return this.properties.toArray(String[]::new);
	}

}
