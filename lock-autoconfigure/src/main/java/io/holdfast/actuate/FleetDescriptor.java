package io.holdfast.actuate;

import java.time.Instant;
import java.util.List;

import io.holdfast.engine.fleet.Deadlock;
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

}
