package io.holdfast.actuate;

import java.time.Instant;
import java.util.List;

import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.engine.DefaultSemaphoreService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.fleet.Fleet.Standings;
import io.holdfast.engine.fleet.InstanceReport;
import io.holdfast.engine.fleet.InstanceReport.Entry;
import io.holdfast.engine.store.FleetStore.Family;
import io.holdfast.engine.store.FleetStore.Standing;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.Access;
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
 */
@Endpoint(id = "semaphores", defaultAccess = Access.READ_ONLY)
public class SemaphoresEndpoint {

	private final Fleet fleet;

	private final Instant started;

	private final SemaphoreService semaphores;

	/**
	 * Create the endpoint.
	 * @param engine whose semaphores, and in whose store
	 */
	public SemaphoresEndpoint(LeaseEngine engine) {
		this.fleet = engine.fleet();
		this.started = Endpoints.started(this.fleet);
		this.semaphores = new DefaultSemaphoreService(engine);
	}

	/**
	 * All semaphores of this instance, and a page of those of the fleet.
	 * @param cursor where the page before ended, or {@code null} to begin
	 * @param limit how many semaphores of the fleet are wanted, from 1 to 1000, or
	 * {@code null} for 100; there may be a few more
	 * @return all semaphores
	 */
	@ReadOperation
	public SemaphoresDescriptor semaphores(@Nullable String cursor, @Nullable Integer limit) {
		int wanted = Endpoints.limit(limit);
		PartialResult parts = new PartialResult();
		InstanceReport report = parts.own(this.fleet);
		Instant now = Instant.now();
		SemaphoresDescriptor.FleetSemaphores seen = fleet(parts, cursor, wanted);
		return new SemaphoresDescriptor(Endpoints.self(this.fleet, this.started, seen.instances()),
				report.holds().stream().filter(SemaphoresEndpoint::isSemaphore).map((hold) -> held(hold, now)).toList(),
				report.waits()
					.stream()
					.filter(SemaphoresEndpoint::isSemaphore)
					.map((wait) -> waiting(wait, now))
					.toList(),
				report.cut(), seen);
	}

	private SemaphoresDescriptor.FleetSemaphores fleet(PartialResult parts, @Nullable String cursor, int wanted) {
		Standings page = parts.look(() -> Endpoints.checked(() -> this.fleet.page(Family.SEMAPHORES, cursor, wanted)));
		List<InstanceDescriptor> members = parts.look(() -> Endpoints.members(this.fleet));
		return new SemaphoresDescriptor.FleetSemaphores((members != null) ? members : List.of(),
				(page != null) ? views(page) : List.of(), (page != null) ? page.cursor() : cursor, parts.problem());
	}

	private static List<SemaphoreDescriptor> views(Standings page) {
		return page.standings()
			.stream()
			.map((standing) -> SemaphoreDescriptors.of(standing, null, Instant.now()))
			.toList();
	}

	/**
	 * One semaphore.
	 * @param key its key
	 * @return the semaphore, or {@code null} if it has neither a holder nor a waiter nor
	 * a limit that was set
	 */
	@ReadOperation
	public @Nullable SemaphoreDescriptor semaphore(@Selector(match = Match.ALL_REMAINING) String... key) {
		String name = Endpoints.checked(() -> SemaphoreRequest.of(Endpoints.key(key), 1).key());
		Standing standing = Endpoints.answered(() -> this.fleet.look(Family.SEMAPHORES, name));
		return standing.isEmpty() ? null
				: SemaphoreDescriptors.of(standing, new PartialResult().look(this.fleet::reports), Instant.now());
	}

	/**
	 * Set a limit that comes before those of all requests, or clear it; see
	 * {@link io.holdfast.SemaphoreAdmin#setLimit}.
	 * @param key which semaphore
	 * @param limit the limit, from 0 to 1,000,000,000, or {@code null} if it is to be
	 * cleared
	 * @param clear {@code true} to clear it; {@code null} is the same as {@code false}
	 */
	@WriteOperation
	public void limit(String key, @Nullable Integer limit, @Nullable Boolean clear) {
		boolean cleared = Boolean.TRUE.equals(clear);
		if (cleared == (limit != null)) {
			throw Endpoints.invalid("There is " + (cleared ? "both" : "neither") + " a limit "
					+ (cleared ? "and" : "nor")
					+ " 'clear': give either \"limit\": a number, to set the limit, or \"clear\": true, to clear it",
					null);
		}
		Endpoints.answered(() -> {
			if (limit == null) {
				return this.semaphores.admin().clearLimit(key);
			}
			this.semaphores.admin().setLimit(key, limit);
			return true;
		});
	}

	/**
	 * Release all permits of a semaphore in their holders' names; see
	 * {@link io.holdfast.SemaphoreAdmin#forceRelease}.
	 * @param key which semaphore
	 * @return whether there was a holder
	 */
	@DeleteOperation
	public ReleaseDescriptor release(String key) {
		return Endpoints.answered(() -> new ReleaseDescriptor(this.semaphores.admin().forceRelease(key)));
	}

	private static boolean isSemaphore(Entry entry) {
		return entry.resource().kind() == Kind.SEMAPHORE;
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
