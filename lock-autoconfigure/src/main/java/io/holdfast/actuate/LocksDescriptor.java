package io.holdfast.actuate;

import java.time.Instant;
import java.util.List;

import io.holdfast.LockMode;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/**
 * All locks, as the endpoint shows them.
 *
 * @param instance the instance that answers
 * @param held its holds, the oldest first; of a search, only those on its page
 * @param waiting its waits, the oldest first; of a search, only those on its page
 * @param cut whether it holds or waits for more than is shown
 * @param fleet the holds and waits of all instances
 * @since 0.1.0
 */
public record LocksDescriptor(InstanceDescriptor instance, List<HeldLock> held, List<LockWait> waiting, boolean cut,
		FleetLocks fleet) implements OperationResponseBody {

	/**
	 * A lock that the instance holds.
	 *
	 * @param key the lock's key
	 * @param mode how it holds it
	 * @param name the request's name, if it has one
	 * @param thread whose lease it is, absent if it was asked for asynchronously; with a
	 * note if the caller of an asynchronous method has gone, and the method goes on
	 * @param since since when
	 * @param ttlMillis how long from now if it is not renewed
	 * @param fencingToken its fencing token
	 */
	public record HeldLock(String key, @Nullable LockMode mode, @Nullable String name, @Nullable String thread,
			Instant since, long ttlMillis, long fencingToken) {
	}

	/**
	 * A lock that the instance waits for.
	 *
	 * @param key the lock's key
	 * @param mode how it wants it
	 * @param name the request's name, if it has one
	 * @param thread the waiting thread, absent if the request is asynchronous
	 * @param since since when
	 */
	public record LockWait(String key, @Nullable LockMode mode, @Nullable String name, @Nullable String thread,
			Instant since) {
	}

	/**
	 * The fleet.
	 *
	 * @param instances the instances that are known
	 * @param locks a page of all locks that are held or waited for
	 * @param cycles of threads that wait for each other
	 * @param silent the instances that did not tell their waits
	 * @param found of a search only: how much there is
	 * @param cursor where the next page begins, absent if there is none
	 * @param problem the reason why a part is missing, absent if nothing is
	 */
	public record FleetLocks(List<InstanceDescriptor> instances, List<LockDescriptor> locks,
			List<DeadlockDescriptor> cycles, List<String> silent, @Nullable FoundDescriptor found,
			@Nullable String cursor, @Nullable String problem) {
	}

}
