package io.holdfast.actuate;

import java.time.Instant;

import io.holdfast.SemaphoreService;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.StandingQuery;
import io.holdfast.engine.fleet.StandingQuery.Order;
import io.holdfast.engine.fleet.StandingQuery.State;
import io.holdfast.engine.store.Resource.Kind;
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

	private final Instant started;

	private final SemaphoreService semaphores;

	/**
	 * Create the endpoint.
	 * @param engine whose semaphores, and in whose store
	 */
	public SemaphoresEndpoint(LeaseEngine engine) {
		this.engine = engine;
		this.started = FleetLook.started(engine);
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
	public UsageDescriptor semaphores(@Nullable String cursor, @Nullable Integer limit, @Nullable String key,
			@Nullable String search, @Nullable State state, @Nullable Order sort, @Nullable Integer page) {
		int wanted = Endpoints.limit(limit);
		StandingQuery query = Endpoints.query(cursor, key, search, state, null, sort, page, wanted);
		return look().usage(this.started, cursor, wanted, key, query);
	}

	/**
	 * All semaphores of this instance, and a page of those of the fleet, in no order.
	 * @param cursor where the page before ended, or {@code null} to begin
	 * @param limit how many semaphores of the fleet are wanted, from 1 to 1000, or
	 * {@code null} for 100; there may be a few more
	 * @return all semaphores
	 */
	public UsageDescriptor semaphores(@Nullable String cursor, @Nullable Integer limit) {
		return semaphores(cursor, limit, null, null, null, null, null);
	}

	private FleetLook look() {
		return new FleetLook(this.engine, Kind.SEMAPHORE);
	}

	/**
	 * One semaphore.
	 * @param key its key
	 * @return the semaphore, or {@code null} if it has neither a holder nor a waiter nor
	 * a limit that was set
	 */
	@ReadOperation
	public @Nullable ResourceDescriptor semaphore(@Selector(match = Match.ALL_REMAINING) String... key) {
		return look().one(Endpoints.key(key));
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

}
