package io.holdfast.engine.fleet;

import java.util.List;

/**
 * A deadlock: a cycle of threads that wait for each other's locks. Part of the endpoints'
 * format.
 *
 * @param waits the waits of the cycle: the holder of each wait is the thread of the next
 * wait, and the holder of the last is the thread of the first
 */
public record Deadlock(List<ThreadWait> waits) {

	/**
	 * A thread that waits for a lock of another thread.
	 *
	 * @param instance the public id of the waiting thread's instance
	 * @param thread the name of the waiting thread
	 * @param key the key of the lock
	 * @param holder the holder of the lock
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
