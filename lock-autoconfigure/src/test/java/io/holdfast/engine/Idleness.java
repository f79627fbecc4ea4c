package io.holdfast.engine;

import io.holdfast.LockService;

/**
 * Access of other packages' tests to the idleness of a service.
 */
public final class Idleness {

	private Idleness() {
	}

	/**
	 * Return whether a service has no holds, no waiters and no queues.
	 * @param service a service of this project
	 * @return whether the service is idle
	 */
	public static boolean of(LockService service) {
		return ((DefaultLockService) service).engine.isIdle();
	}

}
