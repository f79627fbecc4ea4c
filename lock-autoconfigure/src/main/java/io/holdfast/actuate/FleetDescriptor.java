package io.holdfast.actuate;

import java.time.Instant;
import java.util.List;

import io.holdfast.engine.fleet.ThreadWait;
import io.holdfast.engine.fleet.ThreadWait.WaitingThread;
import org.jspecify.annotations.Nullable;

/**
 * Holders and waiters of all instances, as endpoints show them.
 *
 * @param instances the instances that are known
 * @param locks a page of all locks that are held or waited for; absent from semaphores
 * @param semaphores a page of all semaphores that are held or waited for, or have a limit
 * that an operator has set; absent from locks
 * @param cycles of threads that wait for each other; absent from semaphores
 * @param silent the instances that did not tell their waiters; absent from semaphores
 * @param found of a search only: how much there is
 * @param cursor where the next page begins, absent if there is none
 * @param problem the reason for an incomplete view, absent if it is complete
 */
public record FleetDescriptor(List<InstanceDescriptor> instances, @Nullable List<ResourceDescriptor> locks,
		@Nullable List<ResourceDescriptor> semaphores, @Nullable List<Deadlock> cycles, @Nullable List<String> silent,
		@Nullable Counts found, @Nullable String cursor, @Nullable String problem) {

	/**
	 * Counts of a search.
	 *
	 * @param matching how many match the search
	 * @param total how many there are
	 * @param held how many of them are held
	 * @param waiting how many wait, in queues or inside of instances, as far as these
	 * told
	 * @param complete whether all of it was counted; if not, there are at least as many
	 * @param counted when it was counted, by the clock of the instance that answers
	 */
	public record Counts(int matching, int total, int held, long waiting, boolean complete, Instant counted) {
	}

	/**
	 * Threads that wait for each other in a circle: none of them goes on before one of
	 * them gives up.
	 *
	 * @param waits the waits, each for the holder that is the waiter of the next one, and
	 * the last for the first
	 */
	public record Deadlock(List<DeadlockWait> waits) {

		static Deadlock of(List<ThreadWait> cycle) {
			return new Deadlock(cycle.stream().map((wait) -> {
				WaitingThread holder = wait.holder();
				return new DeadlockWait(wait.actor().instance(), wait.actor().thread(), wait.key(),
						new Actor(holder.instance(), holder.thread()));
			}).toList());
		}

	}

	/**
	 * One wait of a deadlock.
	 *
	 * @param instance whose thread waits
	 * @param thread the thread that waits
	 * @param key the lock that it waits for
	 * @param holder the holder of that lock
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
