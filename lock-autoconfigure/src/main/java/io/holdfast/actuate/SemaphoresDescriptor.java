package io.holdfast.actuate;

import java.time.Instant;
import java.util.List;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/**
 * All semaphores, as the endpoint shows them.
 *
 * @param instance the instance that answers
 * @param held its holds, the oldest first; of a search, only those on its page
 * @param waiting its waits, the oldest first; of a search, only those on its page
 * @param cut whether it holds or waits for more than is shown
 * @param fleet the holds and waits of all instances
 * @since 0.1.0
 */
public record SemaphoresDescriptor(InstanceDescriptor instance, List<HeldPermits> held, List<SemaphoreWait> waiting,
		boolean cut, FleetSemaphores fleet) implements OperationResponseBody {

	/**
	 * A semaphore of which the instance holds permits.
	 *
	 * @param key the semaphore's key
	 * @param permits how many permits
	 * @param name the request's name, if it has one
	 * @param thread whose lease it is, absent if it was asked for asynchronously; with a
	 * note if the caller of an asynchronous method has gone, and the method goes on
	 * @param since since when
	 * @param ttlMillis how long from now if it is not renewed
	 */
	public record HeldPermits(String key, int permits, @Nullable String name, @Nullable String thread, Instant since,
			long ttlMillis) {
	}

	/**
	 * A semaphore of which the instance waits for permits.
	 *
	 * @param key the semaphore's key
	 * @param permits how many permits
	 * @param name the request's name, if it has one
	 * @param thread the waiting thread, absent if the request is asynchronous
	 * @param since since when
	 */
	public record SemaphoreWait(String key, int permits, @Nullable String name, @Nullable String thread,
			Instant since) {
	}

	/**
	 * The fleet.
	 *
	 * @param instances the instances that are known
	 * @param semaphores a page of all semaphores that are held or waited for, or have a
	 * limit that an operator has set
	 * @param found of a search only: how much there is
	 * @param cursor where the next page begins, absent if there is none
	 * @param problem the reason why a part is missing, absent if nothing is
	 */
	public record FleetSemaphores(List<InstanceDescriptor> instances, List<SemaphoreDescriptor> semaphores,
			@Nullable FoundDescriptor found, @Nullable String cursor, @Nullable String problem) {
	}

}
