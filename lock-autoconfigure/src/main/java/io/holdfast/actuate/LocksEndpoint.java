package io.holdfast.actuate;

import java.time.Instant;
import java.util.List;

import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.Fleet;
import io.holdfast.engine.ThreadWait.Actor;
import io.holdfast.engine.Fleet.Standings;
import io.holdfast.engine.ThreadWait;
import io.holdfast.engine.FleetStore.Family;
import io.holdfast.engine.FleetStore.Standing;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.Report;
import io.holdfast.engine.Report.Entry;
import io.holdfast.engine.Reports;
import io.holdfast.engine.Resource.Kind;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.Selector.Match;

/**
 * Who holds which lock, and who waits for it: in this instance and in the fleet. By
 * default it may only be read; with unrestricted access locks may be released by force.
 * Blocks until the store has answered. Thread-safe.
 */
@Endpoint(id = "locks", defaultAccess = Access.READ_ONLY)
public class LocksEndpoint {

	private final Fleet fleet;

	private final Instant started;

	private final LockService locks;

	/**
	 * Create the endpoint.
	 * @param engine whose locks, and in whose store
	 */
	public LocksEndpoint(LeaseEngine engine) {
		this.fleet = engine.fleet();
		this.started = Endpoints.started(this.fleet);
		this.locks = new DefaultLockService(engine);
	}

	/**
	 * All locks of this instance, and a page of those of the fleet.
	 * @param cursor where the page before ended, or {@code null} to begin
	 * @param limit how many locks of the fleet are wanted, from 1 to 1000, or
	 * {@code null} for 100; there may be a few more
	 * @return all locks
	 */
	@ReadOperation
	public LocksView locks(@Nullable String cursor, @Nullable Integer limit) {
		int wanted = Endpoints.limit(limit);
		Parts parts = new Parts();
		Report report = parts.own(this.fleet);
		Instant now = Instant.now();
		LocksView.Fleet seen = fleet(parts, cursor, wanted);
		return new LocksView(Endpoints.self(this.fleet, this.started, seen.instances()),
				report.holds().stream().filter(LocksEndpoint::isLock).map((hold) -> held(hold, now)).toList(),
				report.waits().stream().filter(LocksEndpoint::isLock).map((wait) -> waiting(wait, now)).toList(),
				report.cut(), seen);
	}

	private LocksView.Fleet fleet(Parts parts, @Nullable String cursor, int wanted) {
		Standings page = parts.look(() -> Endpoints.checked(() -> this.fleet.page(Family.LOCKS, cursor, wanted)));
		List<InstanceView> members = parts.look(() -> Endpoints.members(this.fleet));
		Reports reports = parts.look(this.fleet::reports);
		List<CycleView> cycles = (reports != null) ? parts.look(() -> cycles(reports)) : null;
		return new LocksView.Fleet((members != null) ? members : List.of(), (page != null) ? views(page) : List.of(),
				(cycles != null) ? cycles : List.of(), (reports != null) ? reports.silent() : List.of(),
				(page != null) ? page.cursor() : cursor, parts.problem());
	}

	private static List<LockView> views(Standings page) {
		return page.standings().stream().map((standing) -> LockViews.of(standing, null, Instant.now())).toList();
	}

	/**
	 * One lock.
	 * @param key its key
	 * @return the lock, or {@code null} if nobody holds it or waits for it
	 */
	@ReadOperation
	public @Nullable LockView lock(@Selector(match = Match.ALL_REMAINING) String... key) {
		String name = Endpoints.checked(() -> LockRequest.of(Endpoints.key(key)).key());
		Standing standing = Endpoints.answered(() -> this.fleet.look(Family.LOCKS, name));
		return standing.isEmpty() ? null : LockViews.of(standing, new Parts().look(this.fleet::reports), Instant.now());
	}

	/**
	 * Release a lock in its owner's name, whoever that is; see
	 * {@link LockService#forceRelease}.
	 * @param key its key; no part of the path, which does not name every key faithfully
	 * @return whether anybody owned it
	 */
	@DeleteOperation
	public ReleaseView release(String key) {
		return Endpoints.answered(() -> new ReleaseView(this.locks.forceRelease(key)));
	}

	private static boolean isLock(Entry entry) {
		return entry.resource().kind() != Kind.SEMAPHORE;
	}

	private static LocksView.Held held(Entry hold, Instant now) {
		return new LocksView.Held(hold.resource().key(), hold.mode(), hold.name(), hold.thread(),
				now.minusMillis(hold.millis()), hold.ttlMillis(), hold.fence());
	}

	private static LocksView.Waiting waiting(Entry wait, Instant now) {
		return new LocksView.Waiting(wait.resource().key(), wait.mode(), wait.name(), wait.thread(),
				now.minusMillis(wait.millis()));
	}

	private List<CycleView> cycles(Reports reports) {
		return this.fleet.cycles(reports)
			.stream()
			.map((cycle) -> new CycleView(cycle.stream().map(LocksEndpoint::wait).toList()))
			.toList();
	}

	private static CycleView.Wait wait(ThreadWait wait) {
		Actor holder = wait.holder();
		return new CycleView.Wait(wait.actor().instance(), wait.actor().thread(), wait.key(),
				new CycleView.Actor(holder.instance(), holder.thread()));
	}

}
