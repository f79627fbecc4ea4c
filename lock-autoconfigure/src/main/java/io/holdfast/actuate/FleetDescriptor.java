package io.holdfast.actuate;

import java.time.Instant;
import java.util.List;

import io.holdfast.engine.fleet.Deadlock;
import org.jspecify.annotations.Nullable;

/**
 * Holders and waiters of all instances in the answer of an endpoint.
 *
 * @param instances the known instances
 * @param locks a page of the locks with holders or waiters; absent from the endpoint of
 * semaphores
 * @param semaphores a page of the semaphores with holders, waiters or an operator's
 * limit; absent from the endpoint of locks
 * @param cycles the deadlocks; absent from the endpoint of semaphores
 * @param silent the instances that did not report their waiters; absent from the endpoint
 * of semaphores
 * @param found the counts of a search; absent without a search
 * @param cursor the cursor of the next page, absent after the last page
 * @param problem the reason for an incomplete view, absent if it is complete
 */
public record FleetDescriptor(List<InstanceDescriptor> instances, @Nullable List<ResourceDescriptor> locks,
		@Nullable List<ResourceDescriptor> semaphores, @Nullable List<Deadlock> cycles, @Nullable List<String> silent,
		@Nullable Counts found, @Nullable String cursor, @Nullable String problem) {

	/**
	 * Counts of a search.
	 *
	 * @param matching the number of matching resources
	 * @param total the number of all resources
	 * @param held the number of held resources
	 * @param waiting the known number of waiters, in the store's queues or only within
	 * their instances
	 * @param complete whether all resources were counted; otherwise the counts are lower
	 * bounds
	 * @param counted the time of the count, by the clock of the answering instance
	 */
	public record Counts(int matching, int total, int held, long waiting, boolean complete, Instant counted) {
	}

}
