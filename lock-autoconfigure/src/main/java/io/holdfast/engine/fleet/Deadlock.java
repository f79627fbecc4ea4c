package io.holdfast.engine.fleet;

import java.util.List;

/**
 * Threads that wait for each other in a circle: none of them goes on before one of them
 * gives up. Endpoints show it in this form.
 *
 * @param waits the waits, each for the holder that is the waiter of the next one, and the
 * last for the first
 */
public record Deadlock(List<ThreadWait> waits) {

	/**
	 * One thread that waits for a lock which another thread holds.
	 *
	 * @param instance the public id of the instance whose thread waits
	 * @param thread the thread that waits
	 * @param key the key of the lock
	 * @param holder the holder of that lock
	 */
	public record ThreadWait(String instance, String thread, String key, Actor holder) {
	}

	/**
	 * A thread of an instance.
	 *
	 * @param instance the public id of the instance
	 * @param thread the name of the thread
	 */
	public record Actor(String instance, String thread) {
	}

}
