package io.holdfast.benchmark;

import java.time.Duration;

/**
 * Lets time pass in which nothing is to be done but what is measured.
 */
final class Pause {

	private Pause() {
	}

	static void of(Duration time) {
		try {
			Thread.sleep(time.toMillis());
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException(ex);
		}
	}

}
