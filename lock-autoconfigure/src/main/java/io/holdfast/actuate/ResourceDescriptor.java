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
import io.holdfast.engine.fleet.FleetReport.Told;
import io.holdfast.engine.store.FleetStore.Standing;
import io.holdfast.engine.store.FleetStore.TokenState;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/**
 * A lock or a semaphore in the fleet, as endpoints show it.
 *
 * @param key its key, as its users name it
 * @param fencingToken of a lock, its last fencing token; absent if none is remembered, or
 * if a foreign holder has it
 * @param granted of a lock, when it was granted, by the store's clock; to readers, the
 * first known one. Absent if no instance holds it, or if the store has no such clock
 * @param late of a search for locks only: whether it was not renewed in time, as far as
 * was seen; absent if it is not
 * @param limit of a semaphore, the number of its permits: that of the operator, or else
 * that of the last request; absent if neither is known
 * @param limitSet of a semaphore, whether an operator has set the limit
 * @param used of a semaphore, how many permits are held
 * @param free of a semaphore, how many are not; absent if the limit is not known
 * @param holderCount how many hold it
 * @param holders some of them
 * @param queue the first entries of its queue, in their order
 * @param queueLength how many stand there
 * @param waiters how many wait, there or inside of instances, as far as these told
 * @param inside of one key only: the waiters inside of their instances
 * @param silent of one key only: the instances that did not answer
 */
public record ResourceDescriptor(String key, @Nullable Long fencingToken, @Nullable Instant granted,
		@Nullable Boolean late, @Nullable Integer limit, @Nullable Boolean limitSet, @Nullable Integer used,
		@Nullable Integer free, int holderCount, List<Holder> holders, List<WaiterDescriptor> queue, int queueLength,
		int waiters, @Nullable List<WaiterDescriptor> inside,
		@Nullable List<String> silent) implements OperationResponseBody {

	/** In 2020: a store in memory has no date. */
	private static final long EARLIEST_GRANT = 1_577_836_800_000_000L;

	/**
	 * Return the state of a resource in the store and, of one key, the instances' reports
	 * of it.
	 * @param names the names of instances, of one key; else there are none
	 */
	static ResourceDescriptor of(Standing standing, @Nullable FleetReport reports,
			Function<String, @Nullable LockHolder> names, Map<String, Told> told, boolean late, Instant now) {
		boolean lock = standing.resource().kind() == Kind.LOCK;
		Told of = told.getOrDefault(standing.resource().key(), Told.NOTHING);
		Integer asked = (standing.asked() > 0) ? Integer.valueOf(standing.asked()) : null;
		Integer limit = (standing.limit() != null) ? standing.limit() : asked;
		Integer free = (limit != null) ? Integer.valueOf(Math.max(0, limit - standing.used())) : null;
		return new ResourceDescriptor(standing.resource().key(),
				(lock && standing.fence() > 0 && !standing.isForeign()) ? standing.fence() : null,
				lock ? granted(standing, of) : null, late ? true : null, lock ? null : limit,
				lock ? null : standing.limit() != null, lock ? null : standing.used(), lock ? null : free,
				standing.holderCount(),
				standing.holders().stream().map((place) -> Holder.of(place, find(reports, place), names, now)).toList(),
				standing.queue()
					.stream()
					.map((place) -> WaiterDescriptor.of(place, find(reports, place), now))
					.toList(),
				standing.waiting(), Math.max(standing.waiting(), of.waits()), (reports != null)
						? reports.inside(standing).map((wait) -> WaiterDescriptor.of(wait, now)).toList() : null,
				(reports != null) ? reports.silent() : null);
	}

	private static @Nullable Entry find(@Nullable FleetReport reports, TokenState place) {
		return (reports != null) ? reports.find(place) : null;
	}

	/**
	 * Return when a lock was granted: its fence is a time in microseconds, if the store
	 * has a clock that tells the date. That of several readers is of the last one.
	 */
	private static @Nullable Instant granted(Standing standing, Told told) {
		boolean held = standing.holderCount() > 0 && standing.holders().get(0).instance() != null;
		return held ? granted(told.heldSince(standing.fence())) : null;
	}

	private static @Nullable Instant granted(long micros) {
		return (micros >= EARLIEST_GRANT) ? Instant.ofEpochMilli(TimeUnit.MICROSECONDS.toMillis(micros)) : null;
	}

	/**
	 * A holder.
	 *
	 * @param instance which instance, absent if it is none of Holdfast
	 * @param application of one key only: the name of its application, if it is known
	 * @param host of one key only: the host that it runs on, if it is known
	 * @param process of one key only: its process there, if it is known
	 * @param foreign of a lock, whether it is none of Holdfast
	 * @param mode of a lock, how it holds it
	 * @param permits of a semaphore, how many permits it holds
	 * @param ttlMillis how long from now if it is not renewed, -1 for no end
	 * @param thread of one key only: which thread, if its instance told; with a note if
	 * the caller of an asynchronous method has gone, and the method goes on
	 * @param name of one key only: the request's name, if its instance told and it has
	 * one
	 * @param since of one key only: since when, if its instance told; of a lock, by the
	 * store's clock
	 * @param note of one key only: the request's note, if its instance told and it has
	 * one
	 */
	public record Holder(@Nullable String instance, @Nullable String application, @Nullable String host,
			@Nullable Long process, @Nullable Boolean foreign, @Nullable LockMode mode, @Nullable Integer permits,
			long ttlMillis, @Nullable String thread, @Nullable String name, @Nullable Instant since,
			@Nullable String note) {

		static Holder of(TokenState place, @Nullable Entry entry, Function<String, @Nullable LockHolder> names,
				Instant now) {
			LockMode mode = InstanceReport.mode(place.kind(), place.permits());
			LockHolder named = (place.instance() != null) ? names.apply(place.instance()) : null;
			return new Holder(place.instance(), (named != null) ? named.application() : null,
					(named != null) ? named.host() : null, (named != null) ? (Long) named.process() : null,
					(mode != null) ? place.instance() == null : null, mode, (mode != null) ? null : place.permits(),
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
	 * @param instance which instance
	 * @param mode of a lock, how it wants it
	 * @param permits of a semaphore, how many permits it wants
	 * @param thread of one key only: which thread, if its instance told
	 * @param name of one key only: the request's name, if its instance told and it has
	 * one
	 * @param since of one key only: since when, if its instance told
	 */
	public record WaiterDescriptor(@Nullable String instance, @Nullable LockMode mode, @Nullable Integer permits,
			@Nullable String thread, @Nullable String name, @Nullable Instant since) {

		static WaiterDescriptor of(TokenState place, @Nullable Entry entry, Instant now) {
			if (entry != null) {
				return of(entry, now);
			}
			LockMode mode = InstanceReport.mode(place.kind(), place.permits());
			return new WaiterDescriptor(place.instance(), mode, (mode != null) ? null : place.permits(), null, null,
					null);
		}

		static WaiterDescriptor of(Entry entry, Instant now) {
			return new WaiterDescriptor(entry.instance(), entry.mode(), (entry.mode() != null) ? null : entry.permits(),
					entry.thread(), entry.name(), now.minusMillis(entry.millis()));
		}

	}

}
