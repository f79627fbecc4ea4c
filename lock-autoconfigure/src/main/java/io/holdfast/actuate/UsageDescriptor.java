package io.holdfast.actuate;

import java.time.Instant;
import java.util.List;

import io.holdfast.LockMode;
import io.holdfast.engine.InstanceReport.Entry;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/**
 * All locks, or all semaphores, as their endpoint shows them.
 *
 * @param instance the instance that answers
 * @param held its holds, the oldest first; of a search, only those of its page
 * @param waiting its waits, the oldest first; of a search, only those of its page
 * @param cut whether it holds or waits for more than is shown
 * @param fleet holders and waiters of all instances
 */
public record UsageDescriptor(InstanceDescriptor instance, List<Request> held, List<Request> waiting, boolean cut,
		FleetDescriptor fleet) implements OperationResponseBody {

	/**
	 * A request of the instance, which holds or waits.
	 *
	 * @param key the key of the lock or semaphore
	 * @param mode of a lock, how it is held or wanted
	 * @param permits of a semaphore, how many permits
	 * @param name the request's name, if it has one
	 * @param thread whose request it is, absent if it is asynchronous; with a note if the
	 * caller of an asynchronous method has gone, and the method goes on
	 * @param since since when it holds or waits
	 * @param ttlMillis of a holder, how long from now if it is not renewed
	 * @param fencingToken of the holder of a lock, its fencing token
	 * @param note its note, if it has one
	 */
	public record Request(String key, @Nullable LockMode mode, @Nullable Integer permits, @Nullable String name,
			@Nullable String thread, Instant since, @Nullable Long ttlMillis, @Nullable Long fencingToken,
			@Nullable String note) {

		static Request of(Entry entry, boolean held, Instant now) {
			boolean lock = entry.mode() != null;
			return new Request(entry.resource().key(), entry.mode(), lock ? null : entry.permits(), entry.name(),
					entry.thread(), now.minusMillis(entry.millis()), held ? entry.ttlMillis() : null,
					(held && lock) ? entry.fence() : null, entry.note());
		}

	}

}
