package io.holdfast.engine;

/**
 * The numbers of requests, for copies of an instance.
 */
public final class RequestNumbers {

	private RequestNumbers() {
	}

	/** Have one instance count on from the last request of another one. */
	public static void copy(ResourceQueues from, ResourceQueues to) {
		to.lastNumber.set(from.lastNumber.get());
	}

}
