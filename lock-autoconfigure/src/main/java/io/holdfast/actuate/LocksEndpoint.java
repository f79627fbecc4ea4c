package io.holdfast.actuate;

import java.time.Instant;
import java.util.List;

import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.fleet.Fleet.Standings;
import io.holdfast.engine.fleet.FleetReport;
import io.holdfast.engine.fleet.InstanceReport;
import io.holdfast.engine.fleet.InstanceReport.Entry;
import io.holdfast.engine.fleet.ThreadWait;
import io.holdfast.engine.fleet.ThreadWait.WaitingThread;
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

/**
 * Endpoint that tells the holders of locks and their waiters: in this instance and in the
 * fleet. By default it may only be read; with unrestricted access locks may be released
 * by force. Blocks until the store has answered. Thread-safe.
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
	public LocksDescriptor locks(@Nullable String cursor, @Nullable Integer limit) {
		int wanted = Endpoints.limit(limit);
		PartialResult parts = new PartialResult();
		InstanceReport report = parts.own(this.fleet);
		Instant now = Instant.now();
		LocksDescriptor.FleetLocks seen = fleet(parts, cursor, wanted);
		return new LocksDescriptor(Endpoints.self(this.fleet, this.started, seen.instances()),
				report.holds().stream().filter(LocksEndpoint::isLock).map((hold) -> held(hold, now)).toList(),
				report.waits().stream().filter(LocksEndpoint::isLock).map((wait) -> waiting(wait, now)).toList(),
				report.cut(), seen);
	}

	private LocksDescriptor.FleetLocks fleet(PartialResult parts, @Nullable String cursor, int wanted) {
		Standings page = parts.look(() -> Endpoints.checked(() -> this.fleet.page(Family.LOCKS, cursor, wanted)));
		List<InstanceDescriptor> members = parts.look(() -> Endpoints.members(this.fleet));
		FleetReport reports = parts.look(this.fleet::reports);
		List<DeadlockDescriptor> cycles = (reports != null) ? parts.look(() -> cycles(reports)) : null;
		return new LocksDescriptor.FleetLocks((members != null) ? members : List.of(),
				(page != null) ? views(page) : List.of(), (cycles != null) ? cycles : List.of(),
				(reports != null) ? reports.silent() : List.of(), (page != null) ? page.cursor() : cursor,
				parts.problem());
	}

	private static List<LockDescriptor> views(Standings page) {
		return page.standings().stream().map((standing) -> LockDescriptors.of(standing, null, Instant.now())).toList();
	}

	/**
	 * One lock.
	 * @param key its key
	 * @return the lock, or {@code null} if it has neither a holder nor a waiter
	 */
	@ReadOperation
	public @Nullable LockDescriptor lock(@Selector(match = Match.ALL_REMAINING) String... key) {
		String name = Endpoints.checked(() -> LockRequest.of(Endpoints.key(key)).key());
		Standing standing = Endpoints.answered(() -> this.fleet.look(Family.LOCKS, name));
		return standing.isEmpty() ? null
				: LockDescriptors.of(standing, new PartialResult().look(this.fleet::reports), Instant.now());
	}

	/**
	 * Release a lock in the name of its owner; see
	 * {@link io.holdfast.LockAdmin#forceRelease}.
	 * @param key its key; no part of the path, which does not name every key faithfully
	 * @return whether it had an owner
	 */
	@DeleteOperation
	public ReleaseDescriptor release(String key) {
		return Endpoints.answered(() -> new ReleaseDescriptor(this.locks.admin().forceRelease(key)));
	}

	private static boolean isLock(Entry entry) {
		return entry.resource().kind() != Kind.SEMAPHORE;
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
