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
import io.holdfast.engine.store.FleetStore.TokenState;
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

	private final Instant started;

	private final DefaultLockService locks;

	/**
	 * Create the endpoint.
	 * @param engine whose locks, and in whose store
	 */
	public LocksEndpoint(LeaseEngine engine) {
		this.engine = engine;
		this.started = FleetLook.started(engine);
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
	public UsageDescriptor locks(@Nullable String cursor, @Nullable Integer limit, @Nullable String key,
			@Nullable String search, @Nullable State state, @Nullable Duration heldFor, @Nullable Order sort,
			@Nullable Integer page) {
		int wanted = Endpoints.limit(limit);
		StandingQuery query = Endpoints.query(cursor, key, search, state, heldFor, sort, page, wanted);
		return look().usage(this.started, cursor, wanted, key, query);
	}

	/**
	 * All locks of this instance, and a page of those of the fleet, in no order.
	 * @param cursor where the page before ended, or {@code null} to begin
	 * @param limit how many locks of the fleet are wanted, from 1 to 1000, or
	 * {@code null} for 100; there may be a few more
	 * @return all locks
	 */
	public UsageDescriptor locks(@Nullable String cursor, @Nullable Integer limit) {
		return locks(cursor, limit, null, null, null, null, null, null);
	}

	private FleetLook look() {
		return new FleetLook(this.engine, Kind.LOCK);
	}

	/**
	 * One lock.
	 * @param key its key
	 * @return the lock, or {@code null} if it has neither a holder nor a waiter
	 */
	@ReadOperation
	public @Nullable ResourceDescriptor lock(@Selector(match = Match.ALL_REMAINING) String... key) {
		return look().one(Endpoints.key(key));
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
		FleetLook look = look();
		// Before, as the owner's instance forgets the lease with its release.
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

	/** Tell whose lock it was; its thread if its instance has reported it before. */
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
