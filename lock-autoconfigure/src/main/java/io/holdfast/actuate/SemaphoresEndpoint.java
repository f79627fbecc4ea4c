package io.holdfast.actuate;

import java.time.Instant;

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
 * Endpoint for the holders and waiters of permits, in this instance and in the fleet.
 * Read-only by default; with unrestricted access, limits can be set and permits released
 * by force. Blocks until the store answers. Thread-safe.
 *
 * @since 0.1.0
 */
@Endpoint(id = "semaphores", defaultAccess = Access.READ_ONLY)
public class SemaphoresEndpoint {

	private final LeaseEngine engine;

	private final Instant started;

	private final DefaultSemaphoreService semaphores;

	/**
	 * Create the endpoint.
	 * @param engine the engine of the semaphores
	 */
	public SemaphoresEndpoint(LeaseEngine engine) {
		this.engine = engine;
		this.started = FleetLook.started(engine);
		this.semaphores = new DefaultSemaphoreService(engine);
		// Operators name the whole key.
		this.semaphores.setKeyNamespace(() -> "");
	}

	/**
	 * Return the semaphores of this instance, and of the fleet either a page of all
	 * semaphores in no order, one semaphore, or a page of a search.
	 * @param cursor the cursor of the previous page, or {@code null} for the first page
	 * @param limit the desired size of a page, from 1 to 1000, or {@code null} for 100;
	 * without a search, the page may be slightly larger
	 * @param key the key of the only semaphore to return, in detail
	 * @param search a text that the keys contain, ignoring case
	 * @param state the state to match
	 * @param sort the order of a search, or {@code null} to sort by key; the age of
	 * permits is not known
	 * @param page the number of the search's page, or {@code null} for the first page
	 * @return the semaphores
	 */
	@ReadOperation
	public UsageDescriptor semaphores(@Nullable String cursor, @Nullable Integer limit, @Nullable String key,
			@Nullable String search, @Nullable State state, @Nullable Order sort, @Nullable Integer page) {
		int wanted = Endpoints.limit(limit);
		StandingQuery query = Endpoints.query(cursor, key, search, state, null, sort, page, wanted);
		return look().usage(this.started, cursor, wanted, key, query);
	}

	/**
	 * Return the semaphores of this instance, and a page of all semaphores of the fleet,
	 * in no order.
	 * @param cursor the cursor of the previous page, or {@code null} for the first page
	 * @param limit the desired size of the page, from 1 to 1000, or {@code null} for 100;
	 * the page may be slightly larger
	 * @return the semaphores
	 */
	public UsageDescriptor semaphores(@Nullable String cursor, @Nullable Integer limit) {
		return semaphores(cursor, limit, null, null, null, null, null);
	}

	private FleetLook look() {
		return new FleetLook(this.engine, Kind.SEMAPHORE);
	}

	/**
	 * Return one semaphore.
	 * @param key the key of the semaphore
	 * @return the semaphore, or {@code null} if it has no holders, no waiters and no
	 * operator's limit
	 */
	@ReadOperation
	public @Nullable ResourceDescriptor semaphore(@Selector(match = Match.ALL_REMAINING) String... key) {
		return look().one(Endpoints.key(key));
	}

	/**
	 * Set or clear the operator's limit; see {@link io.holdfast.SemaphoreAdmin#setLimit}.
	 * @param key the key of the semaphore
	 * @param limit the limit, from 0 to 1,000,000,000, or {@code null} with {@code clear}
	 * @param clear {@code true} to clear the limit; {@code null} means {@code false}
	 * @param by the requesting user, for the log
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
		boolean changed = Endpoints.changed(
				"The limit of semaphore '" + key + "' was to be " + ((limit != null) ? "set to " + limit : "cleared"),
				by, () -> {
					if (limit == null) {
						return this.semaphores.admin().clearLimit(key);
					}
					this.semaphores.admin().setLimit(key, limit);
					return true;
				});
		Endpoints.log((limit != null) ? "Set the limit of semaphore '" + key + "' to " + limit
				: (changed ? "Cleared the" : "Found no") + " limit of semaphore '" + key + "'", by);
	}

	/**
	 * Release all permits of a semaphore by force; see
	 * {@link io.holdfast.SemaphoreAdmin#forceRelease}.
	 * @param key the key of the semaphore
	 * @param by the requesting user, for the log
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
