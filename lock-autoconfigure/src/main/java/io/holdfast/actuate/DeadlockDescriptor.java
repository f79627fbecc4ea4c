package io.holdfast.actuate;

import java.util.List;

/**
 * Threads that wait for each other in a circle, as endpoints show them: none of them goes
 * on before one of them gives up.
 *
 * @param waits the waits, each for a holder that is the waiter of the next one, and the
 * last for the first
 * @since 0.1.0
 */
public record DeadlockDescriptor(List<DeadlockWait> waits) {

	/**
	 * One of the waits.
	 *
	 * @param instance whose thread waits
	 * @param thread the thread that waits
	 * @param key the lock that it waits for
	 * @param holder the holder of that key
	 */
	public record DeadlockWait(String instance, String thread, String key, Actor holder) {
	}

	/**
	 * A thread of an instance.
	 *
	 * @param instance the instance
	 * @param thread the thread
	 */
	public record Actor(String instance, String thread) {
	}

}
