package io.holdfast.engine;

/**
 * Number of the last request, for copies of an instance.
 */
public final class RequestNumbers {

	private RequestNumbers() {
	}

	/** Continue the numbers of an instance in its copy. */
	public static void copy(ResourceQueues from, ResourceQueues to) {
		to.lastNumber.set(from.lastNumber.get());
	}

}
