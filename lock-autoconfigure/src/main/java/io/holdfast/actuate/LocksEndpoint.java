package io.holdfast.actuate;

import java.time.Duration;
import java.time.Instant;

import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.ForcedResult;
import io.holdfast.engine.InstanceReport.Entry;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.FleetReport;
import io.holdfast.engine.fleet.StandingQuery;
import io.holdfast.engine.fleet.StandingQuery.Order;
import io.holdfast.engine.fleet.StandingQuery.State;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource.Kind;
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
 * Endpoint for the holders and waiters of locks, in this instance and in the fleet.
 * Read-only by default; with unrestricted access, locks can be released by force. Blocks
 * until the store answers. Thread-safe.
 *
 * @since 0.1.0
 */
@Endpoint(id = "locks", defaultAccess = Access.READ_ONLY)
public class LocksEndpoint {

	private static final int CONFLICT = 409;

	private final LeaseEngine engine;

	private final Instant started;

	private final DefaultLockService locks;

	/**
	 * Create the endpoint.
	 * @param engine the engine of the locks
	 */
	public LocksEndpoint(LeaseEngine engine) {
		this.engine = engine;
		this.started = FleetLook.started(engine);
		this.locks = new DefaultLockService(engine);
		// Operators name the whole key.
		this.locks.setKeyNamespace(() -> "");
	}

	/**
	 * Return the locks of this instance, and of the fleet either a page of all locks in
	 * no order, one lock, or a page of a search.
	 * @param cursor the cursor of the previous page, or {@code null} for the first page
	 * @param limit the desired size of a page, from 1 to 1000, or {@code null} for 100;
	 * without a search, the page may be slightly larger
	 * @param key the key of the only lock to return, in detail
	 * @param search a text that the keys contain, ignoring case
	 * @param state the state to match
	 * @param heldFor the minimum time for which the locks have been held
	 * @param sort the order of a search, or {@code null} to sort by key
	 * @param page the number of the search's page, or {@code null} for the first page
	 * @return the locks
	 */
	@ReadOperation
	public UsageDescriptor locks(@Nullable String cursor, @Nullable Integer limit, @Nullable String key,
			@Nullable String search, @Nullable State state, @Nullable Duration heldFor, @Nullable Order sort,
			@Nullable Integer page) {
		int wanted = Endpoints.limit(limit);
		StandingQuery query = Endpoints.query(cursor, key, search, state, heldFor, sort, page, wanted);
		return look().usage(this.started, cursor, wanted, key, query);
	}

	/**
	 * Return the locks of this instance, and a page of all locks of the fleet, in no
	 * order.
	 * @param cursor the cursor of the previous page, or {@code null} for the first page
	 * @param limit the desired size of the page, from 1 to 1000, or {@code null} for 100;
	 * the page may be slightly larger
	 * @return the locks
	 */
	public UsageDescriptor locks(@Nullable String cursor, @Nullable Integer limit) {
		return locks(cursor, limit, null, null, null, null, null, null);
	}

	private FleetLook look() {
		return new FleetLook(this.engine, Kind.LOCK);
	}

	/**
	 * Return one lock.
	 * @param key the key of the lock
	 * @return the lock, or {@code null} if it has neither a holder nor a waiter
	 */
	@ReadOperation
	public @Nullable ResourceDescriptor lock(@Selector(match = Match.ALL_REMAINING) String... key) {
		return look().one(Endpoints.key(key));
	}

	/**
	 * Release a lock by force; see {@link io.holdfast.LockAdmin#forceRelease}.
	 * @param key the key of the lock, as a parameter, because a path cannot represent
	 * every key
	 * @param fencingToken the fencing token of the grant to release; a lock with another
	 * token is not released; {@code null} to release any grant
	 * @param by the requesting user, for the log
	 * @return a {@link ReleaseDescriptor}; in a response with the status 409 if the lock
	 * has another token
	 */
	@DeleteOperation
	public Object release(String key, @Nullable Long fencingToken, SecurityContext by) {
		FleetLook look = look();
		// Query before the release, with which the owner's instance forgets the lease.
		FleetReport reports = look.reports(key);
		ForcedResult result = Endpoints.changed("Lock '" + key + "' was to be released by force", by,
				() -> this.locks.forceRelease(key, fencingToken));
		String problem = null;
		if (result.released()) {
			Endpoints.log("Released lock '" + key + "' by force" + owner(result, look, reports), by);
		}
		else if (fencingToken != null && result.held() && !result.isGrantOf(fencingToken)) {
			problem = "Lock '" + key + "' was not released: " + whyOther(result, fencingToken);
			Endpoints.log(problem, by);
		}
		else {
			Endpoints.log("Found nothing to release of lock '" + key + "' by force", by);
		}
		ReleaseDescriptor answer = new ReleaseDescriptor(result.released(), problem);
		return (problem != null) ? new WebEndpointResponse<>(answer, CONFLICT) : answer;
	}

	private static String whyOther(ForcedResult found, long fencingToken) {
		if (found.fence() > 0) {
			return "its fencing token is not " + fencingToken + " any more, but " + found.fence()
					+ ", so it was granted again since then";
		}
		return (found.owner() == null) ? "its owner has no fencing token"
				: "Redis does not remember its fencing token any more (holdfast.lock.fence-retention). "
						+ "Release it without a token";
	}

	/** Return a description of the former owner for the log, with its thread if known. */
	private String owner(ForcedResult result, FleetLook look, @Nullable FleetReport reports) {
		TokenState owner = result.owner();
		if (owner == null) {
			return result.describe("", null);
		}
		String process = look.members()
			.stream()
			.filter((member) -> member.id().equals(owner.instance()))
			.map((member) -> " (" + member.application() + ", process " + member.process() + " on " + member.host()
					+ ")")
			.findFirst()
			.orElse("");
		Entry entry = (result.thread() == null && reports != null) ? reports.find(owner) : null;
		return result.describe(process, (entry != null) ? entry.thread() : null);
	}

}
