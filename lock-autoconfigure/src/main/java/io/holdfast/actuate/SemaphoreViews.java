package io.holdfast.actuate;

import java.time.Instant;
import java.util.List;

import io.holdfast.engine.FleetStore.Place;
import io.holdfast.engine.FleetStore.Standing;
import io.holdfast.engine.Report.Entry;
import io.holdfast.engine.Reports;
import org.jspecify.annotations.Nullable;

/**
 * Makes {@link SemaphoreView}s of what the store tells and, of one key, instances report.
 */
final class SemaphoreViews {

	private SemaphoreViews() {
	}

	static SemaphoreView of(Standing standing, @Nullable Reports reports, Instant now) {
		Integer set = standing.limit();
		Integer asked = (standing.asked() > 0) ? Integer.valueOf(standing.asked()) : null;
		Integer limit = (set != null) ? set : asked;
		Integer free = (limit != null) ? Integer.valueOf(Math.max(0, limit - standing.used())) : null;
		List<SemaphoreView.Waiter> inside = null;
		if (reports != null) {
			inside = reports.inside(standing)
				.map((waiting) -> waiter(waiting.instance(), waiting.entry(), now))
				.toList();
		}
		return new SemaphoreView(standing.resource().key(), limit, set != null, standing.used(), free,
				standing.holderCount(),
				standing.holders().stream().map((place) -> holder(place, entry(place, reports), now)).toList(),
				standing.queue().stream().map((place) -> waiter(place, entry(place, reports), now)).toList(),
				standing.waiting(), inside, (reports != null) ? reports.silent() : null);
	}

	private static @Nullable Entry entry(Place place, @Nullable Reports reports) {
		return (reports != null) ? reports.find(place) : null;
	}

	private static SemaphoreView.Holder holder(Place place, @Nullable Entry entry, Instant now) {
		return (entry != null)
				? new SemaphoreView.Holder(place.instance(), place.permits(), place.ttlMillis(), entry.thread(),
						entry.name(), now.minusMillis(entry.millis()))
				: new SemaphoreView.Holder(place.instance(), place.permits(), place.ttlMillis(), null, null, null);
	}

	private static SemaphoreView.Waiter waiter(Place place, @Nullable Entry entry, Instant now) {
		return (entry != null) ? waiter(place.instance(), entry, now)
				: new SemaphoreView.Waiter(place.instance(), place.permits(), null, null, null);
	}

	private static SemaphoreView.Waiter waiter(@Nullable String instance, Entry entry, Instant now) {
		return new SemaphoreView.Waiter(instance, entry.permits(), entry.thread(), entry.name(),
				now.minusMillis(entry.millis()));
	}

}
