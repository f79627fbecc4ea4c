package io.holdfast.actuate;

import java.util.List;
import java.util.Map;
import java.util.function.Function;

import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.fleet.Fleet.Found;
import io.holdfast.engine.fleet.Fleet.Standings;
import io.holdfast.engine.fleet.FleetReport.Told;
import io.holdfast.engine.fleet.InstanceReport.Entry;
import io.holdfast.engine.fleet.StandingQuery;
import io.holdfast.engine.store.FleetStore.Family;
import io.holdfast.engine.store.FleetStore.Standing;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * The locks or the semaphores of the fleet that an endpoint shows: a page of all, one
 * key, or a page of a search.
 *
 * @param family locks or semaphores
 * @param selected whether one key, or a search, was asked for
 * @param standings the keys on the page
 * @param cursor where the next page begins, or {@code null} if there is none
 * @param search the counts of the search, or {@code null} without one
 */
record StandingPage(Family family, boolean selected, List<Standing> standings, @Nullable String cursor,
		@Nullable Found search) {

	static StandingPage look(Fleet fleet, Family family, PartialResult parts, @Nullable String cursor, int limit,
			@Nullable String key, Function<String, Standing> byKey, @Nullable StandingQuery query,
			Map<String, Told> told) {
		if (key != null) {
			Standing standing = parts.look(() -> Endpoints.checked(() -> byKey.apply(key)));
			return new StandingPage(family, true,
					(standing != null && !standing.isEmpty()) ? List.of(standing) : List.of(), null, null);
		}
		if (query != null) {
			Found found = parts.look(() -> fleet.find(family, query, told));
			return new StandingPage(family, true, (found != null) ? found.standings() : List.of(), null, found);
		}
		Standings page = parts.look(() -> Endpoints.checked(() -> fleet.page(family, cursor, limit)));
		return (page != null) ? new StandingPage(family, false, page.standings(), page.cursor(), null)
				: new StandingPage(family, false, List.of(), cursor, null);
	}

	/** Return whether holds and waits of this instance are shown beside this page. */
	boolean includes(Entry entry) {
		boolean semaphore = entry.resource().kind() == Kind.SEMAPHORE;
		return semaphore == (this.family == Family.SEMAPHORES) && (!this.selected
				|| this.standings.stream().anyMatch((each) -> each.resource().key().equals(entry.resource().key())));
	}

	/** Return whether a search found that a lock was not renewed in time. */
	boolean isLate(Standing standing) {
		return this.search != null && this.search.late().contains(standing.resource().key());
	}

	@Nullable FoundDescriptor found() {
		return (this.search != null) ? Endpoints.found(this.search) : null;
	}

}
