package io.holdfast.actuate;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.actuate.UsageDescriptor.Request;
import io.holdfast.engine.InstanceReport;
import io.holdfast.engine.InstanceReport.Entry;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.Deadlock;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.fleet.Fleet.Found;
import io.holdfast.engine.fleet.Fleet.Standings;
import io.holdfast.engine.fleet.FleetReport;
import io.holdfast.engine.fleet.FleetReport.KeySummary;
import io.holdfast.engine.fleet.StandingQuery;
import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import org.jspecify.annotations.Nullable;

/**
 * Collects the answer of an endpoint on locks or semaphores, of this instance and of the
 * fleet. A part that fails is left out, and the answer names the first failure, so that
 * operators see the other parts during an outage.
 */
final class FleetLook {

	private final LeaseEngine engine;

	private final Fleet fleet;

	private final Kind kind;

	private @Nullable String problem;

	/** Whether the store has failed and may be down. It is then not asked again. */
	private boolean down;

	FleetLook(LeaseEngine engine, Kind kind) {
		this.engine = engine;
		this.fleet = Fleet.of(engine);
		this.kind = kind;
	}

	/** Return the start time of an instance, by its own clock. */
	static Instant started(LeaseEngine engine) {
		return Instant.now().minus(Fleet.of(engine).age()).truncatedTo(ChronoUnit.MILLIS);
	}

	private <T> @Nullable T part(Supplier<T> look) {
		if (this.down) {
			return null;
		}
		try {
			return look.get();
		}
		catch (LeaseStoreException ex) {
			StoreCommandException failure = (ex.getCause() instanceof StoreCommandException cause) ? cause : null;
			this.down = failure == null || failure.isTemporary();
			this.problem = (this.problem != null) ? this.problem : ex.getMessage();
			return null;
		}
	}

	/** Return the reports of all instances, with the entries of a key first. */
	@Nullable FleetReport reports(@Nullable String key) {
		return part(() -> this.fleet.reports(key));
	}

	/** Return the instances of the fleet, empty if they are not known. */
	List<InstanceDescriptor> members() {
		List<InstanceDescriptor> members = part(
				() -> this.fleet.members().stream().map(InstanceDescriptor::of).toList());
		return (members != null) ? members : List.of();
	}

	/**
	 * Return one resource.
	 * @return the resource, or {@code null} if it is unused
	 */
	@Nullable ResourceDescriptor one(String key) {
		Standing standing = Endpoints.checked(() -> look(key));
		if (standing.isEmpty()) {
			return null;
		}
		Instant now = now();
		FleetReport reports = reports(standing.resource().key());
		// This call also refreshes the names of instances.
		members();
		return ResourceDescriptor.of(standing, reports, this.fleet::findKnown, summaries(reports, now), false, now);
	}

	/**
	 * Return the time from which the durations in reports count back. Must be read before
	 * the instances are queried, because a silent instance delays the reports.
	 */
	private static Instant now() {
		return Instant.now().truncatedTo(ChronoUnit.MILLIS);
	}

	private Standing look(String key) {
		return this.fleet.look(new Resource(this.kind,
				(this.kind == Kind.LOCK) ? LockRequest.of(key).key() : SemaphoreRequest.of(key, 1).key()));
	}

	/**
	 * Return the use of locks or semaphores: by this instance, and either of one key, a
	 * page of a search, or a page of all resources.
	 * @param started the start time of this instance, by its own clock
	 */
	UsageDescriptor usage(Instant started, @Nullable String cursor, int limit, @Nullable String key,
			@Nullable StandingQuery query) {
		boolean locks = this.kind == Kind.LOCK;
		InstanceReport complete = part(() -> this.fleet.report(key));
		InstanceReport own = (complete != null) ? complete : this.fleet.holds();
		Instant now = now();
		// A search also counts waiters that are queued only within their instances.
		FleetReport searchReports = (query != null) ? reports(null) : null;
		Found search = (query != null) ? part(() -> this.fleet.find(this.kind, query, summaries(searchReports, now)))
				: null;
		Standings page = (query == null) ? page(cursor, limit, key)
				: new Standings((search != null) ? search.standings() : List.of(), null);
		List<InstanceDescriptor> members = members();
		FleetReport reports = (searchReports != null || !locks && page.standings().isEmpty()) ? searchReports
				: reports(key);
		Map<String, KeySummary> summaries = summaries(reports, now);
		List<Deadlock> cycles = (locks && reports != null) ? part(() -> this.fleet.cycles(reports)) : null;
		List<ResourceDescriptor> shown = page.standings().stream().map((standing) -> {
			boolean late = locks && search != null && search.late().contains(standing.resource().key());
			return (key != null) ? ResourceDescriptor.of(standing, reports, this.fleet::findKnown, summaries, late, now)
					: ResourceDescriptor.of(standing, null, (instance) -> null, summaries, late, now);
		}).toList();
		Predicate<Entry> shownHere = (entry) -> (entry.resource().kind() == Kind.LOCK) == locks
				&& (key == null && query == null
						|| shown.stream().anyMatch((each) -> each.key().equals(entry.resource().key())));
		return new UsageDescriptor(self(started, members),
				own.holds().stream().filter(shownHere).map((hold) -> Request.of(hold, true, now)).toList(),
				own.waits().stream().filter(shownHere).map((wait) -> Request.of(wait, false, now)).toList(), own.cut(),
				locks ? new FleetDescriptor(members, shown, null, (cycles != null) ? cycles : List.of(),
						(reports != null) ? reports.silent() : List.of(), found(search), page.cursor(), this.problem)
						: new FleetDescriptor(members, null, shown, null, null, found(search), page.cursor(),
								this.problem));
	}

	private Standings page(@Nullable String cursor, int limit, @Nullable String key) {
		if (key != null) {
			Standing standing = part(() -> Endpoints.checked(() -> look(key)));
			return new Standings((standing != null && !standing.isEmpty()) ? List.of(standing) : List.of(), null);
		}
		Standings page = part(() -> Endpoints.checked(() -> this.fleet.page(this.kind, cursor, limit)));
		return (page != null) ? page : new Standings(List.of(), cursor);
	}

	private Map<String, KeySummary> summaries(@Nullable FleetReport reports, Instant now) {
		return (reports != null) ? reports.summaries(this.kind, Endpoints.micros(now)) : Map.of();
	}

	private static FleetDescriptor.@Nullable Counts found(@Nullable Found search) {
		return (search == null) ? null : new FleetDescriptor.Counts(search.matching(), search.total(), search.held(),
				search.waiting(), search.complete(), Instant.now().minus(search.age()).truncatedTo(ChronoUnit.MILLIS));
	}

	/**
	 * Return this instance. Its start time is by the store's clock, like that of other
	 * instances, if this instance is registered.
	 */
	private InstanceDescriptor self(Instant started, List<InstanceDescriptor> members) {
		String id = this.fleet.instance();
		InstanceInfo info = this.fleet.info();
		Instant shown = members.stream()
			.filter((member) -> member.id().equals(id))
			.map(InstanceDescriptor::started)
			.findFirst()
			.orElse(started);
		return (info != null) ? new InstanceDescriptor(id, info.application(), info.host(), info.process(), shown, null)
				: new InstanceDescriptor(id, null, null, null, shown, null);
	}

}
