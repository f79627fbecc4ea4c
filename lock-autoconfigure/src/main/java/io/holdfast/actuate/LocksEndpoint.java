package io.holdfast.actuate;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import io.holdfast.LockRequest;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.ForcedResult;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.fleet.FleetReport;
import io.holdfast.engine.fleet.FleetReport.Told;
import io.holdfast.engine.fleet.InstanceReport;
import io.holdfast.engine.fleet.InstanceReport.Entry;
import io.holdfast.engine.fleet.StandingQuery;
import io.holdfast.engine.fleet.StandingQuery.Order;
import io.holdfast.engine.fleet.StandingQuery.State;
import io.holdfast.engine.fleet.ThreadWait;
import io.holdfast.engine.fleet.ThreadWait.WaitingThread;
import io.holdfast.engine.store.FleetStore.Family;
import io.holdfast.engine.store.FleetStore.Place;
import io.holdfast.engine.store.FleetStore.Standing;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.Selector.Match;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/**
 * Endpoint that tells the holders of locks and their waiters: in this instance and in the
 * fleet. By default it may only be read; with unrestricted access locks may be released
 * by force. Blocks until the store has answered. Thread-safe.
 *
 * @since 0.1.0
 */
@Endpoint(id = "locks", defaultAccess = Access.READ_ONLY)
public class LocksEndpoint {

	private static final int CONFLICT = 409;

	private final LeaseEngine engine;

	private final Fleet fleet;

	private final Instant started;

	private final DefaultLockService locks;

	/**
	 * Create the endpoint.
	 * @param engine whose locks, and in whose store
	 */
	public LocksEndpoint(LeaseEngine engine) {
		this.engine = engine;
		this.fleet = engine.fleet();
		this.started = Endpoints.started(this.fleet);
		this.locks = new DefaultLockService(engine);
	}

	/**
	 * All locks of this instance, and a page of those of the fleet: all of them in no
	 * order, or one, or the matches of a search.
	 * @param cursor where the page before ended, or {@code null} to begin
	 * @param limit how many locks of the fleet are wanted, from 1 to 1000, or
	 * {@code null} for 100; with a cursor there may be a few more
	 * @param key the key of the only lock that is wanted, told in detail
	 * @param search text that keys contain, in upper or lower case
	 * @param state the state to match
	 * @param heldFor for how long they are to be held, at least
	 * @param sort the order, or {@code null} for the order of keys
	 * @param page the page of the search, or {@code null} for the first one
	 * @return all locks
	 */
	@ReadOperation
	public LocksDescriptor locks(@Nullable String cursor, @Nullable Integer limit, @Nullable String key,
			@Nullable String search, @Nullable State state, @Nullable Duration heldFor, @Nullable Order sort,
			@Nullable Integer page) {
		int wanted = Endpoints.limit(limit);
		StandingQuery query = Endpoints.query(search, state, heldFor, sort, page, wanted);
		Endpoints.checkOneOf(cursor, key, query);
		PartialResult parts = new PartialResult(this.engine);
		InstanceReport report = parts.own(this.fleet, key);
		Instant now = Instant.now();
		// Matches of the search are among the waits, too.
		FleetReport asked = (query != null) ? parts.look(() -> this.fleet.reports(null)) : null;
		StandingPage shown = StandingPage.look(this.fleet, Family.LOCKS, parts, cursor, wanted, key, this::look, query,
				Endpoints.told(asked, Family.LOCKS));
		List<InstanceDescriptor> members = parts.look(() -> Endpoints.members(this.fleet));
		FleetReport reports = (asked != null) ? asked : parts.look(() -> this.fleet.reports(key));
		Map<String, Told> told = Endpoints.told(reports, Family.LOCKS);
		List<DeadlockDescriptor> cycles = (reports != null) ? parts.look(() -> cycles(reports)) : null;
		LocksDescriptor.FleetLocks seen = new LocksDescriptor.FleetLocks((members != null) ? members : List.of(), shown
			.standings()
			.stream()
			.map((each) -> LockDescriptor.of(each, (key != null) ? reports : null, told, shown.isLate(each), now))
			.toList(), (cycles != null) ? cycles : List.of(), (reports != null) ? reports.silent() : List.of(),
				shown.found(), shown.cursor(), parts.problem());
		return new LocksDescriptor(Endpoints.self(this.fleet, this.started, seen.instances()),
				report.holds().stream().filter(shown::includes).map((hold) -> held(hold, now)).toList(),
				report.waits().stream().filter(shown::includes).map((wait) -> waiting(wait, now)).toList(),
				report.cut(), seen);
	}

	/**
	 * All locks of this instance, and a page of those of the fleet, in no order.
	 * @param cursor where the page before ended, or {@code null} to begin
	 * @param limit how many locks of the fleet are wanted, from 1 to 1000, or
	 * {@code null} for 100; there may be a few more
	 * @return all locks
	 */
	public LocksDescriptor locks(@Nullable String cursor, @Nullable Integer limit) {
		return locks(cursor, limit, null, null, null, null, null, null);
	}

	private Standing look(String key) {
		return this.fleet.look(Family.LOCKS, LockRequest.of(key).key());
	}

	/**
	 * One lock.
	 * @param key its key
	 * @return the lock, or {@code null} if it has neither a holder nor a waiter
	 */
	@ReadOperation
	public @Nullable LockDescriptor lock(@Selector(match = Match.ALL_REMAINING) String... key) {
		Standing standing = Endpoints.answered(() -> look(Endpoints.key(key)));
		if (standing.isEmpty()) {
			return null;
		}
		PartialResult parts = new PartialResult(this.engine);
		FleetReport reports = parts.look(() -> this.fleet.reports(standing.resource().key()));
		return LockDescriptor.of(standing, reports, Endpoints.told(reports, Family.LOCKS), false, Instant.now());
	}

	/**
	 * Release a lock in the name of its owner; see
	 * {@link io.holdfast.LockAdmin#forceRelease}.
	 * @param key its key; no part of the path, which does not name every key faithfully
	 * @param fencingToken the fencing token that was seen: if the lock has another one,
	 * it is left alone; {@code null} for any
	 * @param by the user that asks, for the log
	 * @return whether it had an owner, as a {@link ReleaseDescriptor}; in a response with
	 * the status 409 if it was left alone
	 */
	@DeleteOperation
	public Object release(String key, @Nullable Long fencingToken, SecurityContext by) {
		PartialResult parts = new PartialResult(this.engine);
		// Before, as the owner's instance forgets the lease with its release.
		FleetReport reports = parts.look(() -> this.fleet.reports(key));
		ForcedResult result = Endpoints.changed("Lock '" + key + "' was to be released by force", by,
				() -> this.locks.forceRelease(key, fencingToken));
		String problem = null;
		if (result.released()) {
			Endpoints.log("Released lock '" + key + "' by force" + owner(result, parts, reports), by);
		}
		else if (fencingToken != null && result.held() && result.fence() != fencingToken) {
			problem = "Lock '" + key + "' was not released: its fencing token is not " + fencingToken
					+ " any more, but " + ((result.fence() > 0)
							? result.fence() + ", so it was granted again since then" : "its owner has none");
			Endpoints.log(problem, by);
		}
		else {
			Endpoints.log("Found nothing to release of lock '" + key + "' by force", by);
		}
		ReleaseDescriptor answer = new ReleaseDescriptor(result.released(), problem);
		return (problem != null) ? new WebEndpointResponse<>(answer, CONFLICT) : answer;
	}

	/** Tell whose lock it was; its thread if its instance has reported it before. */
	private String owner(ForcedResult result, PartialResult parts, @Nullable FleetReport reports) {
		Place owner = result.owner();
		if (owner == null) {
			return result.describe("", null);
		}
		List<InstanceDescriptor> members = parts.look(() -> Endpoints.members(this.fleet));
		String process = ((members != null) ? members.stream() : Stream.<InstanceDescriptor>empty())
			.filter((member) -> member.id().equals(owner.instance()))
			.map((member) -> " (" + member.application() + ", process " + member.process() + " on " + member.host()
					+ ")")
			.findFirst()
			.orElse("");
		Entry entry = (result.thread() == null) ? Endpoints.reported(owner, reports) : null;
		return result.describe(process, (entry != null) ? entry.thread() : null);
	}

	private static LocksDescriptor.HeldLock held(Entry hold, Instant now) {
		return new LocksDescriptor.HeldLock(hold.resource().key(), hold.mode(), hold.name(), hold.thread(),
				now.minusMillis(hold.millis()), hold.ttlMillis(), hold.fence());
	}

	private static LocksDescriptor.LockWait waiting(Entry wait, Instant now) {
		return new LocksDescriptor.LockWait(wait.resource().key(), wait.mode(), wait.name(), wait.thread(),
				now.minusMillis(wait.millis()));
	}

	private List<DeadlockDescriptor> cycles(FleetReport reports) {
		return this.fleet.cycles(reports)
			.stream()
			.map((cycle) -> new DeadlockDescriptor(cycle.stream().map(LocksEndpoint::wait).toList()))
			.toList();
	}

	private static DeadlockDescriptor.DeadlockWait wait(ThreadWait wait) {
		WaitingThread holder = wait.holder();
		return new DeadlockDescriptor.DeadlockWait(wait.actor().instance(), wait.actor().thread(), wait.key(),
				new DeadlockDescriptor.Actor(holder.instance(), holder.thread()));
	}

}
