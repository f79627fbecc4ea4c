package io.holdfast.actuate;

import java.time.Instant;
import java.util.List;
import java.util.Map;

import io.holdfast.LockMode;
import io.holdfast.engine.fleet.FleetReport;
import io.holdfast.engine.fleet.FleetReport.Told;
import io.holdfast.engine.fleet.InstanceReport;
import io.holdfast.engine.fleet.InstanceReport.Entry;
import io.holdfast.engine.store.FleetStore.Place;
import io.holdfast.engine.store.FleetStore.Standing;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/**
 * A lock in the fleet, as endpoints show it.
 *
 * @param key its key, as its users name it
 * @param fencingToken its last fencing token; absent if none is remembered, or if a
 * foreign holder has it
 * @param granted when it was granted, by the store's clock; to readers, the first one of
 * those that are known. Absent if no instance holds it, or if the store has no such clock
 * @param late of a search only: whether it was not renewed in time, as far as that was
 * seen; absent if it is not
 * @param holderCount how many hold it
 * @param holders some of them
 * @param queue the first waiters of its queue, in their order
 * @param queueLength how many stand there
 * @param waiters how many wait, there or inside of instances, as far as these told
 * @param inside of one key only: the waiters inside of their instances
 * @param silent of one key only: the instances that did not name their callers
 * @since 0.1.0
 */
public record LockDescriptor(String key, @Nullable Long fencingToken, @Nullable Instant granted, @Nullable Boolean late,
		int holderCount, List<LockHolder> holders, List<LockWaiter> queue, int queueLength, int waiters,
		@Nullable List<LockWaiter> inside, @Nullable List<String> silent) implements OperationResponseBody {

	/**
	 * Return the store's view of a lock and, of one key, the reports of instances.
	 */
	static LockDescriptor of(Standing standing, @Nullable FleetReport reports, Map<String, Told> told, boolean late,
			Instant now) {
		List<LockWaiter> inside = null;
		if (reports != null) {
			inside = reports.inside(standing)
				.map((waiting) -> waiter(waiting.instance(), waiting.entry(), now))
				.toList();
		}
		return new LockDescriptor(standing.resource().key(),
				(standing.fence() > 0 && !standing.isForeign()) ? standing.fence() : null,
				Endpoints.granted(standing, told), late ? true : null, standing.holderCount(),
				standing.holders()
					.stream()
					.map((place) -> holder(place, Endpoints.reported(place, reports), now))
					.toList(),
				standing.queue()
					.stream()
					.map((place) -> waiter(place, Endpoints.reported(place, reports), now))
					.toList(),
				standing.waiting(), Endpoints.waiters(standing, told), inside,
				(reports != null) ? reports.silent() : null);
	}

	private static LockHolder holder(Place place, @Nullable Entry entry, Instant now) {
		boolean foreign = place.instance() == null;
		return (entry != null)
				? new LockHolder(place.instance(), foreign, InstanceReport.mode(place.kind(), place.permits()),
						place.ttlMillis(), entry.thread(), entry.name(), now.minusMillis(entry.millis()))
				: new LockHolder(place.instance(), foreign, InstanceReport.mode(place.kind(), place.permits()),
						place.ttlMillis(), null, null, null);
	}

	private static LockWaiter waiter(Place place, @Nullable Entry entry, Instant now) {
		return (entry != null) ? waiter(place.instance(), entry, now) : new LockWaiter(place.instance(),
				InstanceReport.mode(place.kind(), place.permits()), null, null, null);
	}

	private static LockWaiter waiter(@Nullable String instance, Entry entry, Instant now) {
		return new LockWaiter(instance, entry.mode(), entry.thread(), entry.name(), now.minusMillis(entry.millis()));
	}

	/**
	 * A holder of a lock.
	 *
	 * @param instance which instance, absent if it is none of Holdfast
	 * @param foreign whether it is none of Holdfast
	 * @param mode how it holds it
	 * @param ttlMillis how long from now if it is not renewed, -1 for no end
	 * @param thread of one key only: which thread, if its instance told; with a note if
	 * the caller of an asynchronous method has gone, and the method goes on
	 * @param name of one key only: the request's name, if its instance told and it has
	 * one
	 * @param since of one key only: since when, if its instance told
	 */
	public record LockHolder(@Nullable String instance, boolean foreign, @Nullable LockMode mode, long ttlMillis,
			@Nullable String thread, @Nullable String name, @Nullable Instant since) {
	}

	/**
	 * A waiter for a lock.
	 *
	 * @param instance which instance
	 * @param mode how it wants it
	 * @param thread of one key only: which thread, if its instance told
	 * @param name of one key only: the request's name, if its instance told and it has
	 * one
	 * @param since of one key only: since when, if its instance told
	 */
	public record LockWaiter(@Nullable String instance, @Nullable LockMode mode, @Nullable String thread,
			@Nullable String name, @Nullable Instant since) {
	}

}
