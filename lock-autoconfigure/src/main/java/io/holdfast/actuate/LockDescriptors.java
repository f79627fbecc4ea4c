package io.holdfast.actuate;

import java.time.Instant;
import java.util.List;

import io.holdfast.engine.fleet.FleetReport;
import io.holdfast.engine.fleet.InstanceReport;
import io.holdfast.engine.fleet.InstanceReport.Entry;
import io.holdfast.engine.store.FleetStore.Place;
import io.holdfast.engine.store.FleetStore.Standing;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * Makes {@link LockDescriptor}s of what the store tells and, of one key, instances
 * report.
 */
final class LockDescriptors {

	private LockDescriptors() {
	}

	static LockDescriptor of(Standing standing, @Nullable FleetReport reports, Instant now) {
		return of(standing, reports, false, now);
	}

	static LockDescriptor of(Standing standing, @Nullable FleetReport reports, boolean late, Instant now) {
		String kind = (standing.resource().kind() == Kind.LOCK) ? "EXCLUSIVE" : "READ_WRITE";
		List<LockDescriptor.LockWaiter> inside = null;
		if (reports != null) {
			inside = reports.inside(standing)
				.map((waiting) -> waiter(waiting.instance(), waiting.entry(), now))
				.toList();
		}
		return new LockDescriptor(standing.resource().key(), kind, standing.fence(), Endpoints.granted(standing),
				late ? true : null, standing.holderCount(),
				standing.holders().stream().map((place) -> holder(place, entry(place, reports), now)).toList(),
				standing.queue().stream().map((place) -> waiter(place, entry(place, reports), now)).toList(),
				standing.waiting(), inside, (reports != null) ? reports.silent() : null);
	}

	private static @Nullable Entry entry(Place place, @Nullable FleetReport reports) {
		return (reports != null) ? reports.find(place) : null;
	}

	private static LockDescriptor.LockHolder holder(Place place, @Nullable Entry entry, Instant now) {
		boolean foreign = place.instance() == null;
		return (entry != null)
				? new LockDescriptor.LockHolder(place.instance(), foreign,
						InstanceReport.mode(place.kind(), place.permits()), place.ttlMillis(), entry.thread(),
						entry.name(), now.minusMillis(entry.millis()))
				: new LockDescriptor.LockHolder(place.instance(), foreign,
						InstanceReport.mode(place.kind(), place.permits()), place.ttlMillis(), null, null, null);
	}

	private static LockDescriptor.LockWaiter waiter(Place place, @Nullable Entry entry, Instant now) {
		return (entry != null) ? waiter(place.instance(), entry, now) : new LockDescriptor.LockWaiter(place.instance(),
				InstanceReport.mode(place.kind(), place.permits()), null, null, null);
	}

	private static LockDescriptor.LockWaiter waiter(@Nullable String instance, Entry entry, Instant now) {
		return new LockDescriptor.LockWaiter(instance, entry.mode(), entry.thread(), entry.name(),
				now.minusMillis(entry.millis()));
	}

}
