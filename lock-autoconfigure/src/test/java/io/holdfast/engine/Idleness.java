package io.holdfast.engine;

import io.holdfast.LockService;

/**
 * Lets tests of other packages see whether a service has forgotten all keys.
 */
public final class Idleness {

	private Idleness() {
	}

	/**
	 * Whether a service holds nothing, waits for nothing and remembers no key.
	 * @param service a service of this project
	 * @return whether it is idle
	 */
	public static boolean of(LockService service) {
		return ((DefaultLockService) service).engine.isIdle();
	}

}
