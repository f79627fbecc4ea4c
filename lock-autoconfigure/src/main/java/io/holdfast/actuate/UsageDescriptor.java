package io.holdfast.actuate;

import java.time.Instant;
import java.util.List;

import io.holdfast.LockMode;
import io.holdfast.engine.InstanceReport.Entry;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/**
 * Answer of an endpoint on locks or semaphores.
 *
 * @param instance the answering instance
 * @param held the holds of the answering instance, the oldest first; for a search, only
 * those of the page
 * @param waiting the waits of the answering instance, the oldest first; for a search,
 * only those of the page
 * @param cut whether the answering instance has more holds or waits than shown
 * @param fleet the holders and waiters of all instances
 */
public record UsageDescriptor(InstanceDescriptor instance, List<Request> held, List<Request> waiting, boolean cut,
		FleetDescriptor fleet) implements OperationResponseBody {

	/**
	 * A hold or wait of the answering instance.
	 *
	 * @param key the key of the lock or semaphore
	 * @param mode for a lock, the mode
	 * @param permits for a semaphore, the number of permits
	 * @param name the name of the request, if it has one
	 * @param thread the name of the requesting thread, absent for an asynchronous
	 * request; with a remark if the caller of an asynchronous method has gone, and the
	 * method goes on
	 * @param since the start of the hold or wait
	 * @param ttlMillis for a hold, the time left without renewal, in milliseconds
	 * @param fencingToken for a hold of a lock, the fencing token
	 * @param note the note of the request, if it has one
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
