package io.holdfast.engine.fleet;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.holdfast.LockMode;
import io.holdfast.engine.InstanceReport;
import io.holdfast.engine.InstanceReport.Entry;
import io.holdfast.engine.store.FleetStore.Standing;
import io.holdfast.engine.store.FleetStore.TokenState;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * The reports of the instances of a fleet. Their reports are of slightly different
 * moments.
 *
 * @param reports the reports, that of the asking instance first
 * @param silent the instances that did not report in time
 */
public record FleetReport(List<InstanceReport> reports, List<String> silent) {

	/** Return the holds of all instances. */
	Stream<Entry> holds() {
		return this.reports.stream().flatMap((report) -> report.holds().stream());
	}

	/** Return the waits of all instances. */
	Stream<Entry> waits() {
		return this.reports.stream().flatMap((report) -> report.waits().stream());
	}

	/**
	 * Return the report of a holder or a waiter.
	 * @param place the holder or waiter
	 * @return the entry, or {@code null} if nothing was reported of it
	 */
	public @Nullable Entry find(TokenState place) {
		return this.reports.stream()
			.map((report) -> report.find(place))
			.filter(Objects::nonNull)
			.findFirst()
			.orElse(null);
	}

	/**
	 * Return the waits inside of instances, without a place in the store.
	 * @param standing the key in the store
	 * @return the waits, in the order of the instances and their own
	 */
	public Stream<Entry> inside(Standing standing) {
		return waits().filter((wait) -> wait.resource().equals(standing.resource()))
			.filter((wait) -> standing.queue().stream().noneMatch(wait::isOf));
	}

	/**
	 * Return the part of keys that the store does not tell.
	 * @param kind the kind
	 * @param now the time in microseconds since 1970
	 * @return the reports, by key
	 */
	public Map<String, Told> told(Kind kind, long now) {
		Map<String, Told> told = new HashMap<>();
		waits().filter((wait) -> wait.resource().kind() == kind)
			.forEach((wait) -> told.merge(wait.resource().key(), new Told(1, Long.MAX_VALUE, 0), Told::and));
		holds().filter((hold) -> hold.resource().kind() == kind && hold.mode() != null).forEach((hold) -> {
			long since = now - TimeUnit.MILLISECONDS.toMicros(hold.millis());
			told.merge(hold.resource().key(),
					(hold.mode() == LockMode.READ) ? new Told(0, since, 0) : new Told(0, Long.MAX_VALUE, since),
					Told::and);
		});
		return told;
	}

	/**
	 * Return the part that was the same when the instances were asked again: between the
	 * two times all of it was so at once. A number alone does not tell, since one thread
	 * may go on with that of another.
	 * @param later the second reports
	 * @return the common part
	 */
	FleetReport lasting(FleetReport later) {
		Set<Same> holds = later.holds().map(Same::of).collect(Collectors.toSet());
		Set<Same> waits = later.waits().map(Same::of).collect(Collectors.toSet());
		return new FleetReport(this.reports.stream()
			.map((report) -> new InstanceReport(report.instance(),
					report.holds().stream().filter((hold) -> holds.contains(Same.of(hold))).toList(),
					report.waits().stream().filter((wait) -> waits.contains(Same.of(wait))).toList(), report.cut()))
			.toList(), this.silent);
	}

	/**
	 * Summary of the instances' reports of one key.
	 *
	 * @param waits how many wait, in the queue or inside of their instances, at least
	 * @param since since when it is held by its oldest reader, in microseconds since
	 * 1970; {@link Long#MAX_VALUE} if that is not known
	 * @param exclusiveSince since when it is held exclusively, by the newest report, as
	 * an older hold is lost; 0 if that is not known
	 */
	public record Told(int waits, long since, long exclusiveSince) {

		/** Of a key of which nothing was reported. */
		public static final Told NOTHING = new Told(0, Long.MAX_VALUE, 0);

		private Told and(Told other) {
			return new Told(this.waits + other.waits, Math.min(this.since, other.since),
					Math.max(this.exclusiveSince, other.exclusiveSince));
		}

		/**
		 * Return since when the key is held.
		 * @param fence its fencing token, the time of the last grant, which the store
		 * knows better than the holder of an exclusive lock; 0 if it is not remembered,
		 * as after a long hold
		 * @return the time in microseconds since 1970, 0 if it is not known
		 */
		public long heldSince(long fence) {
			long granted = (fence > 0) ? fence : this.exclusiveSince;
			if (this.since == Long.MAX_VALUE) {
				return granted;
			}
			return (granted > 0) ? Math.min(granted, this.since) : this.since;
		}

	}

	/** The part of a hold, or of the wait of a thread, that does not change. */
	private record Same(String instance, long number, long threadId, long fence) {

		static Same of(Entry entry) {
			return new Same(entry.instance(), entry.number(), entry.threadId(), entry.fence());
		}

	}

}
