package io.holdfast.engine.fleet;

import org.jspecify.annotations.Nullable;

/**
 * One thread that waits for a lock which another thread holds.
 *
 * @param actor the thread that waits
 * @param key the key of the lock
 * @param holder the thread that holds it
 */
public record ThreadWait(WaitingThread actor, String key, WaitingThread holder) {

	/**
	 * A thread of an instance.
	 *
	 * @param instance the public id of the instance
	 * @param threadId the id of the thread
	 * @param thread its name, which may change at any time and is not compared
	 */
	public record WaitingThread(String instance, long threadId, String thread) {

		@Override
		public boolean equals(@Nullable Object other) {
			return other instanceof WaitingThread actor && actor.instance.equals(this.instance)
					&& actor.threadId == this.threadId;
		}

		@Override
		public int hashCode() {
			return 31 * this.instance.hashCode() + Long.hashCode(this.threadId);
		}

	}

}
