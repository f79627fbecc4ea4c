package io.holdfast.actuate;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

import io.holdfast.LockHolder;
import io.holdfast.LockMode;
import io.holdfast.engine.InstanceReport;
import io.holdfast.engine.InstanceReport.Entry;
import io.holdfast.engine.fleet.FleetReport;
import io.holdfast.engine.fleet.FleetReport.KeySummary;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/**
 * A lock or semaphore in the answer of an endpoint.
 *
 * @param key the key as its users name it
 * @param fencingToken for a lock, the last fencing token; absent if the store has none,
 * or for a foreign holder
 * @param granted for a lock, the time of the grant by the store's clock; for readers, of
 * the first known grant. Absent if no instance holds the lock, or if the store has no
 * clock
 * @param late for a search of locks only: present if the lock was seen not to be renewed
 * in time
 * @param limit for a semaphore, the operator's limit, or otherwise that of the last
 * request; absent if neither is known
 * @param limitSet for a semaphore, whether an operator has set the limit
 * @param used for a semaphore, the number of held permits
 * @param free for a semaphore, the number of free permits; absent if the limit is not
 * known
 * @param holderCount the number of holders
 * @param holders the first holders
 * @param queue the first entries of the store's queue, in order
 * @param queueLength the length of the store's queue
 * @param waiters the known number of waiters, in the store's queue or only within their
 * instances
 * @param inside for one key only: the waiters that are queued only within their instances
 * @param silent for one key only: the instances that did not answer
 */
public record ResourceDescriptor(String key, @Nullable Long fencingToken, @Nullable Instant granted,
		@Nullable Boolean late, @Nullable Integer limit, @Nullable Boolean limitSet, @Nullable Integer used,
		@Nullable Integer free, int holderCount, List<Holder> holders, List<WaiterDescriptor> queue, int queueLength,
		int waiters, @Nullable List<WaiterDescriptor> inside,
		@Nullable List<String> silent) implements OperationResponseBody {

	/**
	 * Fencing token of 2020, in microseconds. Lower tokens are of a store without a
	 * clock.
	 */
	private static final long EARLIEST_GRANT = 1_577_836_800_000_000L;

	/**
	 * Return the descriptor of a resource from the state in the store and the instances'
	 * reports.
	 * @param names returns the names of instances, for the details of one key
	 */
	static ResourceDescriptor of(Standing standing, @Nullable FleetReport reports,
			Function<String, @Nullable LockHolder> names, Map<String, KeySummary> summaries, boolean late,
			Instant now) {
		Kind kind = standing.resource().kind();
		boolean lock = kind == Kind.LOCK;
		KeySummary summary = summaries.getOrDefault(standing.resource().key(), KeySummary.NOTHING);
		Integer requestedLimit = (standing.asked() > 0) ? Integer.valueOf(standing.asked()) : null;
		Integer limit = (standing.limit() != null) ? standing.limit() : requestedLimit;
		Integer free = (limit != null) ? Integer.valueOf(Math.max(0, limit - standing.used())) : null;
		return new ResourceDescriptor(standing.resource().key(),
				(lock && standing.fence() > 0 && !standing.isForeign()) ? standing.fence() : null,
				lock ? granted(standing, summary) : null, late ? true : null, lock ? null : limit,
				lock ? null : standing.limit() != null, lock ? null : standing.used(), lock ? null : free,
				standing.holderCount(),
				standing.holders()
					.stream()
					.map((place) -> Holder.of(kind, place, find(reports, place), names, now))
					.toList(),
				standing.queue()
					.stream()
					.map((place) -> WaiterDescriptor.of(kind, place, find(reports, place), now))
					.toList(),
				standing.waiting(), Math.max(standing.waiting(), summary.waits()),
				(reports != null)
						? reports.waitsWithinInstances(standing).map((wait) -> WaiterDescriptor.of(wait, now)).toList()
						: null,
				(reports != null) ? reports.silent() : null);
	}

	private static @Nullable Entry find(@Nullable FleetReport reports, TokenState place) {
		return (reports != null) ? reports.find(place) : null;
	}

	/**
	 * Return the time of a lock's grant. With a store that has a clock, the fence is the
	 * time of the last grant in microseconds.
	 */
	private static @Nullable Instant granted(Standing standing, KeySummary summary) {
		boolean held = standing.holderCount() > 0 && !standing.isForeign();
		return held ? granted(summary.heldSince(standing.fence())) : null;
	}

	private static @Nullable Instant granted(long micros) {
		return (micros >= EARLIEST_GRANT) ? Instant.ofEpochMilli(TimeUnit.MICROSECONDS.toMillis(micros)) : null;
	}

	/**
	 * A holder.
	 *
	 * @param instance the public id of the instance, absent for a client other than
	 * Holdfast
	 * @param application for one key only: the name of the application, if known
	 * @param host for one key only: the name of the host, if known
	 * @param process for one key only: the id of the process on the host, if known
	 * @param foreign for a lock, whether the holder is a client other than Holdfast
	 * @param mode for a lock, the mode
	 * @param permits for a semaphore, the number of held permits
	 * @param ttlMillis the time left without renewal, in milliseconds; -1 without expiry
	 * @param thread for one key only: the name of the thread, if reported; with a remark
	 * if the caller of an asynchronous method has gone, and the method goes on
	 * @param name for one key only: the name of the request, if reported
	 * @param since for one key only: the time of the grant, if reported; for a lock, by
	 * the store's clock
	 * @param note for one key only: the note of the request, if reported
	 */
	public record Holder(@Nullable String instance, @Nullable String application, @Nullable String host,
			@Nullable Long process, @Nullable Boolean foreign, @Nullable LockMode mode, @Nullable Integer permits,
			long ttlMillis, @Nullable String thread, @Nullable String name, @Nullable Instant since,
			@Nullable String note) {

		static Holder of(Kind kind, TokenState place, @Nullable Entry entry,
				Function<String, @Nullable LockHolder> names, Instant now) {
			LockMode mode = InstanceReport.mode(kind, place.permits());
			String instance = place.instance();
			LockHolder named = (instance != null) ? names.apply(instance) : null;
			return new Holder(instance, (named != null) ? named.application() : null,
					(named != null) ? named.host() : null, (named != null) ? (Long) named.process() : null,
					(mode != null) ? instance == null : null, mode, (mode != null) ? null : place.permits(),
					place.ttlMillis(), (entry != null) ? entry.thread() : null, (entry != null) ? entry.name() : null,
					(entry != null) ? since(entry, now) : null, (entry != null) ? entry.note() : null);
		}

		private static Instant since(Entry entry, Instant now) {
			Instant granted = (entry.mode() != null) ? granted(entry.fence()) : null;
			return (granted != null) ? granted : now.minusMillis(entry.millis());
		}

	}

	/**
	 * A waiter.
	 *
	 * @param instance the public id of the instance
	 * @param mode for a lock, the requested mode
	 * @param permits for a semaphore, the number of requested permits
	 * @param thread for one key only: the name of the thread, if reported
	 * @param name for one key only: the name of the request, if reported
	 * @param since for one key only: the start of the wait, if reported
	 */
	public record WaiterDescriptor(@Nullable String instance, @Nullable LockMode mode, @Nullable Integer permits,
			@Nullable String thread, @Nullable String name, @Nullable Instant since) {

		static WaiterDescriptor of(Kind kind, TokenState place, @Nullable Entry entry, Instant now) {
			if (entry != null) {
				return of(entry, now);
			}
			LockMode mode = InstanceReport.mode(kind, place.permits());
			return new WaiterDescriptor(place.instance(), mode, (mode != null) ? null : place.permits(), null, null,
					null);
		}

		static WaiterDescriptor of(Entry entry, Instant now) {
			return new WaiterDescriptor(entry.instance(), entry.mode(), (entry.mode() != null) ? null : entry.permits(),
					entry.thread(), entry.name(), now.minusMillis(entry.millis()));
		}

	}

}
