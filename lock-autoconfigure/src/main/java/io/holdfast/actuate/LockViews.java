package io.holdfast.actuate;

import java.time.Instant;
import java.util.List;

import io.holdfast.engine.FleetStore.Place;
import io.holdfast.engine.FleetStore.Standing;
import io.holdfast.engine.Report;
import io.holdfast.engine.Report.Entry;
import io.holdfast.engine.Reports;
import io.holdfast.engine.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * Makes {@link LockView}s of what the store tells and, of one key, instances report.
 */
final class LockViews {

	private LockViews() {
	}

	static LockView of(Standing standing, @Nullable Reports reports, Instant now) {
		String kind = (standing.resource().kind() == Kind.LOCK) ? "EXCLUSIVE" : "READ_WRITE";
		List<LockView.Waiter> inside = null;
		if (reports != null) {
			inside = reports.inside(standing)
				.map((waiting) -> waiter(waiting.instance(), waiting.entry(), now))
				.toList();
		}
		return new LockView(standing.resource().key(), kind, standing.fence(), standing.holderCount(),
				standing.holders().stream().map((place) -> holder(place, entry(place, reports), now)).toList(),
				standing.queue().stream().map((place) -> waiter(place, entry(place, reports), now)).toList(),
				standing.waiting(), inside, (reports != null) ? reports.silent() : null);
	}

	private static @Nullable Entry entry(Place place, @Nullable Reports reports) {
		return (reports != null) ? reports.find(place) : null;
	}

	private static LockView.Holder holder(Place place, @Nullable Entry entry, Instant now) {
		boolean foreign = place.instance() == null;
		return (entry != null)
				? new LockView.Holder(place.instance(), foreign, Report.mode(place.kind(), place.permits()),
						place.ttlMillis(), entry.thread(), entry.name(), now.minusMillis(entry.millis()))
				: new LockView.Holder(place.instance(), foreign, Report.mode(place.kind(), place.permits()),
						place.ttlMillis(), null, null, null);
	}

	private static LockView.Waiter waiter(Place place, @Nullable Entry entry, Instant now) {
		return (entry != null) ? waiter(place.instance(), entry, now)
				: new LockView.Waiter(place.instance(), Report.mode(place.kind(), place.permits()), null, null, null);
	}

	private static LockView.Waiter waiter(@Nullable String instance, Entry entry, Instant now) {
		return new LockView.Waiter(instance, entry.mode(), entry.thread(), entry.name(),
				now.minusMillis(entry.millis()));
	}

}
