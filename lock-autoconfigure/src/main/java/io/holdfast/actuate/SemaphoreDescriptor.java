package io.holdfast.actuate;

import java.time.Instant;
import java.util.List;
import java.util.Map;

import io.holdfast.engine.fleet.FleetReport;
import io.holdfast.engine.fleet.FleetReport.Told;
import io.holdfast.engine.fleet.InstanceReport.Entry;
import io.holdfast.engine.store.FleetStore.Place;
import io.holdfast.engine.store.FleetStore.Standing;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/**
 * A semaphore in the fleet, as endpoints show it.
 *
 * @param key its key, as its users name it
 * @param limit the limit of an operator, or else that of the last request; absent if
 * neither is known
 * @param limitSet whether an operator has set the limit
 * @param used how many permits are held
 * @param free how many are not; absent if the limit is not known
 * @param holderCount how many hold them
 * @param holders some of those
 * @param queue the first waiters of its queue, in their order
 * @param queueLength how many stand there
 * @param waiters how many wait, there or inside of instances, as far as these told
 * @param inside of one key only: the waiters inside of their instances
 * @param silent of one key only: the instances that did not name their callers
 * @since 0.1.0
 */
public record SemaphoreDescriptor(String key, @Nullable Integer limit, boolean limitSet, int used,
		@Nullable Integer free, int holderCount, List<SemaphoreHolder> holders, List<SemaphoreWaiter> queue,
		int queueLength, int waiters, @Nullable List<SemaphoreWaiter> inside,
		@Nullable List<String> silent) implements OperationResponseBody {

	/**
	 * Return the store's view of a semaphore and, of one key, the reports of instances.
	 */
	static SemaphoreDescriptor of(Standing standing, @Nullable FleetReport reports, Map<String, Told> told,
			Instant now) {
		Integer set = standing.limit();
		Integer asked = (standing.asked() > 0) ? Integer.valueOf(standing.asked()) : null;
		Integer limit = (set != null) ? set : asked;
		Integer free = (limit != null) ? Integer.valueOf(Math.max(0, limit - standing.used())) : null;
		List<SemaphoreWaiter> inside = null;
		if (reports != null) {
			inside = reports.inside(standing)
				.map((waiting) -> waiter(waiting.instance(), waiting.entry(), now))
				.toList();
		}
		return new SemaphoreDescriptor(standing.resource().key(), limit, set != null, standing.used(), free,
				standing.holderCount(),
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

	private static SemaphoreHolder holder(Place place, @Nullable Entry entry, Instant now) {
		return (entry != null)
				? new SemaphoreHolder(place.instance(), place.permits(), place.ttlMillis(), entry.thread(),
						entry.name(), now.minusMillis(entry.millis()))
				: new SemaphoreHolder(place.instance(), place.permits(), place.ttlMillis(), null, null, null);
	}

	private static SemaphoreWaiter waiter(Place place, @Nullable Entry entry, Instant now) {
		return (entry != null) ? waiter(place.instance(), entry, now)
				: new SemaphoreWaiter(place.instance(), place.permits(), null, null, null);
	}

	private static SemaphoreWaiter waiter(@Nullable String instance, Entry entry, Instant now) {
		return new SemaphoreWaiter(instance, entry.permits(), entry.thread(), entry.name(),
				now.minusMillis(entry.millis()));
	}

	/**
	 * A holder of permits.
	 *
	 * @param instance which instance, absent if it is none of Holdfast
	 * @param permits how many
	 * @param ttlMillis how long from now if they are not renewed
	 * @param thread of one key only: which thread, if its instance told; with a note if
	 * the caller of an asynchronous method has gone, and the method goes on
	 * @param name of one key only: the request's name, if its instance told and it has
	 * one
	 * @param since of one key only: since when, if its instance told
	 */
	public record SemaphoreHolder(@Nullable String instance, int permits, long ttlMillis, @Nullable String thread,
			@Nullable String name, @Nullable Instant since) {
	}

	/**
	 * A waiter for permits.
	 *
	 * @param instance which instance
	 * @param permits how many
	 * @param thread of one key only: which thread, if its instance told
	 * @param name of one key only: the request's name, if its instance told and it has
	 * one
	 * @param since of one key only: since when, if its instance told
	 */
	public record SemaphoreWaiter(@Nullable String instance, int permits, @Nullable String thread,
			@Nullable String name, @Nullable Instant since) {
	}

}
