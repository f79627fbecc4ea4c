package io.holdfast.actuate;

import java.time.Instant;
import java.util.List;

import io.holdfast.engine.fleet.FleetReport;
import io.holdfast.engine.fleet.InstanceReport.Entry;
import io.holdfast.engine.store.FleetStore.Place;
import io.holdfast.engine.store.FleetStore.Standing;
import org.jspecify.annotations.Nullable;

/**
 * Makes {@link SemaphoreDescriptor}s of what the store tells and, of one key, instances
 * report.
 */
final class SemaphoreDescriptors {

	private SemaphoreDescriptors() {
	}

	static SemaphoreDescriptor of(Standing standing, @Nullable FleetReport reports, Instant now) {
		Integer set = standing.limit();
		Integer asked = (standing.asked() > 0) ? Integer.valueOf(standing.asked()) : null;
		Integer limit = (set != null) ? set : asked;
		Integer free = (limit != null) ? Integer.valueOf(Math.max(0, limit - standing.used())) : null;
		List<SemaphoreDescriptor.SemaphoreWaiter> inside = null;
		if (reports != null) {
			inside = reports.inside(standing)
				.map((waiting) -> waiter(waiting.instance(), waiting.entry(), now))
				.toList();
		}
		return new SemaphoreDescriptor(standing.resource().key(), limit, set != null, standing.used(), free,
				standing.holderCount(),
				standing.holders().stream().map((place) -> holder(place, entry(place, reports), now)).toList(),
				standing.queue().stream().map((place) -> waiter(place, entry(place, reports), now)).toList(),
				standing.waiting(), inside, (reports != null) ? reports.silent() : null);
	}

	private static @Nullable Entry entry(Place place, @Nullable FleetReport reports) {
		return (reports != null) ? reports.find(place) : null;
	}

	private static SemaphoreDescriptor.SemaphoreHolder holder(Place place, @Nullable Entry entry, Instant now) {
		return (entry != null)
				? new SemaphoreDescriptor.SemaphoreHolder(place.instance(), place.permits(), place.ttlMillis(),
						entry.thread(), entry.name(), now.minusMillis(entry.millis()))
				: new SemaphoreDescriptor.SemaphoreHolder(place.instance(), place.permits(), place.ttlMillis(), null,
						null, null);
	}

	private static SemaphoreDescriptor.SemaphoreWaiter waiter(Place place, @Nullable Entry entry, Instant now) {
		return (entry != null) ? waiter(place.instance(), entry, now)
				: new SemaphoreDescriptor.SemaphoreWaiter(place.instance(), place.permits(), null, null, null);
	}

	private static SemaphoreDescriptor.SemaphoreWaiter waiter(@Nullable String instance, Entry entry, Instant now) {
		return new SemaphoreDescriptor.SemaphoreWaiter(instance, entry.permits(), entry.thread(), entry.name(),
				now.minusMillis(entry.millis()));
	}

}
