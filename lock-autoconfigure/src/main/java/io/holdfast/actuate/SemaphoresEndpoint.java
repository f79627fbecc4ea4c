package io.holdfast.actuate;

import java.time.Instant;
import java.util.List;
import java.util.Map;

import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.fleet.FleetReport;
import io.holdfast.engine.fleet.FleetReport.Told;
import io.holdfast.engine.fleet.InstanceReport;
import io.holdfast.engine.fleet.InstanceReport.Entry;
import io.holdfast.engine.fleet.StandingQuery;
import io.holdfast.engine.fleet.StandingQuery.Order;
import io.holdfast.engine.fleet.StandingQuery.State;
import io.holdfast.engine.store.FleetStore.Family;
import io.holdfast.engine.store.FleetStore.Standing;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.Selector.Match;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;

/**
 * Endpoint that tells the holders of permits and their waiters: in this instance and in
 * the fleet. By default it may only be read; with unrestricted access limits may be set
 * and permits released by force. Blocks until the store has answered. Thread-safe.
 *
 * @since 0.1.0
 */
@Endpoint(id = "semaphores", defaultAccess = Access.READ_ONLY)
public class SemaphoresEndpoint {

	private final LeaseEngine engine;

	private final Fleet fleet;

	private final Instant started;

	private final SemaphoreService semaphores;

	/**
	 * Create the endpoint.
	 * @param engine whose semaphores, and in whose store
	 */
	public SemaphoresEndpoint(LeaseEngine engine) {
		this.engine = engine;
		this.fleet = engine.fleet();
		this.started = Endpoints.started(this.fleet);
		this.semaphores = new DefaultSemaphoreService(engine);
	}

	/**
	 * All semaphores of this instance, and a page of those of the fleet: all of them in
	 * no order, or one, or the matches of a search.
	 * @param cursor where the page before ended, or {@code null} to begin
	 * @param limit how many semaphores of the fleet are wanted, from 1 to 1000, or
	 * {@code null} for 100; with a cursor there may be a few more
	 * @param key the key of the only semaphore that is wanted, told in detail
	 * @param search text that keys contain, in upper or lower case
	 * @param state the state to match
	 * @param sort the order, or {@code null} for the order of keys; the age of permits is
	 * not known
	 * @param page the page of the search, or {@code null} for the first one
	 * @return all semaphores
	 */
	@ReadOperation
	public SemaphoresDescriptor semaphores(@Nullable String cursor, @Nullable Integer limit, @Nullable String key,
			@Nullable String search, @Nullable State state, @Nullable Order sort, @Nullable Integer page) {
		int wanted = Endpoints.limit(limit);
		StandingQuery query = Endpoints.query(search, state, null, sort, page, wanted);
		Endpoints.checkOneOf(cursor, key, query);
		PartialResult parts = new PartialResult(this.engine);
		InstanceReport report = parts.own(this.fleet, key);
		Instant now = Instant.now();
		// Matches of the search are among the waits, too.
		FleetReport asked = (query != null) ? parts.look(() -> this.fleet.reports(null)) : null;
		StandingPage shown = StandingPage.look(this.fleet, Family.SEMAPHORES, parts, cursor, wanted, key, this::look,
				query, Endpoints.told(asked, Family.SEMAPHORES));
		FleetReport reports = (asked != null || shown.standings().isEmpty()) ? asked
				: parts.look(() -> this.fleet.reports(key));
		Map<String, Told> told = Endpoints.told(reports, Family.SEMAPHORES);
		List<InstanceDescriptor> members = parts.look(() -> Endpoints.members(this.fleet));
		SemaphoresDescriptor.FleetSemaphores fleet = new SemaphoresDescriptor.FleetSemaphores(
				(members != null) ? members : List.of(),
				shown.standings()
					.stream()
					.map((each) -> SemaphoreDescriptor.of(each, (key != null) ? reports : null, told, now))
					.toList(),
				shown.found(), shown.cursor(), parts.problem());
		return new SemaphoresDescriptor(Endpoints.self(this.fleet, this.started, fleet.instances()),
				report.holds().stream().filter(shown::includes).map((hold) -> held(hold, now)).toList(),
				report.waits().stream().filter(shown::includes).map((wait) -> waiting(wait, now)).toList(),
				report.cut(), fleet);
	}

	/**
	 * All semaphores of this instance, and a page of those of the fleet, in no order.
	 * @param cursor where the page before ended, or {@code null} to begin
	 * @param limit how many semaphores of the fleet are wanted, from 1 to 1000, or
	 * {@code null} for 100; there may be a few more
	 * @return all semaphores
	 */
	public SemaphoresDescriptor semaphores(@Nullable String cursor, @Nullable Integer limit) {
		return semaphores(cursor, limit, null, null, null, null, null);
	}

	private Standing look(String key) {
		return this.fleet.look(Family.SEMAPHORES, SemaphoreRequest.of(key, 1).key());
	}

	/**
	 * One semaphore.
	 * @param key its key
	 * @return the semaphore, or {@code null} if it has neither a holder nor a waiter nor
	 * a limit that was set
	 */
	@ReadOperation
	public @Nullable SemaphoreDescriptor semaphore(@Selector(match = Match.ALL_REMAINING) String... key) {
		Standing standing = Endpoints.answered(() -> look(Endpoints.key(key)));
		if (standing.isEmpty()) {
			return null;
		}
		PartialResult parts = new PartialResult(this.engine);
		FleetReport reports = parts.look(() -> this.fleet.reports(standing.resource().key()));
		return SemaphoreDescriptor.of(standing, reports, Endpoints.told(reports, Family.SEMAPHORES), Instant.now());
	}

	/**
	 * Set a limit that comes before those of all requests, or clear it; see
	 * {@link io.holdfast.SemaphoreAdmin#setLimit}.
	 * @param key which semaphore
	 * @param limit the limit, from 0 to 1,000,000,000, or {@code null} if it is to be
	 * cleared
	 * @param clear {@code true} to clear it; {@code null} is the same as {@code false}
	 * @param by the user that asks, for the log
	 */
	@WriteOperation
	public void limit(String key, @Nullable Integer limit, @Nullable Boolean clear, SecurityContext by) {
		boolean cleared = Boolean.TRUE.equals(clear);
		if (cleared == (limit != null)) {
			throw Endpoints.invalid("There is " + (cleared ? "both" : "neither") + " a limit "
					+ (cleared ? "and" : "nor")
					+ " 'clear': give either \"limit\": a number, to set the limit, or \"clear\": true, to clear it",
					null);
		}
		Endpoints.changed(
				"The limit of semaphore '" + key + "' was to be " + ((limit != null) ? "set to " + limit : "cleared"),
				by, () -> {
					if (limit == null) {
						return this.semaphores.admin().clearLimit(key);
					}
					this.semaphores.admin().setLimit(key, limit);
					return true;
				});
		Endpoints.log((limit != null) ? "Set the limit of semaphore '" + key + "' to " + limit
				: "Cleared the limit of semaphore '" + key + "'", by);
	}

	/**
	 * Release all permits of a semaphore in their holders' names; see
	 * {@link io.holdfast.SemaphoreAdmin#forceRelease}.
	 * @param key which semaphore
	 * @param by the user that asks, for the log
	 * @return whether there was a holder
	 */
	@DeleteOperation
	public ReleaseDescriptor release(String key, SecurityContext by) {
		boolean released = Endpoints.changed("Semaphore '" + key + "' was to be released by force", by,
				() -> this.semaphores.admin().forceRelease(key));
		Endpoints.log((released ? "Released" : "Found nothing to release of") + " semaphore '" + key + "' by force",
				by);
		return new ReleaseDescriptor(released, null);
	}

	private static SemaphoresDescriptor.HeldPermits held(Entry hold, Instant now) {
		return new SemaphoresDescriptor.HeldPermits(hold.resource().key(), hold.permits(), hold.name(), hold.thread(),
				now.minusMillis(hold.millis()), hold.ttlMillis());
	}

	private static SemaphoresDescriptor.SemaphoreWait waiting(Entry wait, Instant now) {
		return new SemaphoresDescriptor.SemaphoreWait(wait.resource().key(), wait.permits(), wait.name(), wait.thread(),
				now.minusMillis(wait.millis()));
	}

}
