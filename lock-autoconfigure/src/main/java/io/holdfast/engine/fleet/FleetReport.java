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
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * Reports of the instances of a fleet, from slightly different moments.
 *
 * @param reports the reports, with the querying instance's report first
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
	 * Return the entry of a holder or waiter.
	 * @param place the holder or waiter
	 * @return the entry, or {@code null} if no instance has reported it
	 */
	public @Nullable Entry find(TokenState place) {
		return this.reports.stream()
			.map((report) -> report.find(place))
			.filter(Objects::nonNull)
			.findFirst()
			.orElse(null);
	}

	/**
	 * Return the waits that are queued only within their instances, not in the store.
	 * @param standing the holders and waiters in the store
	 * @return the waits, in the order of the reports
	 */
	public Stream<Entry> waitsWithinInstances(Standing standing) {
		Set<String> queued = standing.queue()
			.stream()
			.map((place) -> place.instance() + ":" + place.number())
			.collect(Collectors.toSet());
		return waits().filter((wait) -> wait.resource().equals(standing.resource())
				&& !queued.contains(wait.instance() + ":" + wait.number()));
	}

	/**
	 * Return summaries of the information that only the instances have.
	 * @param kind the kind of resource
	 * @param now the current time, in microseconds since 1970
	 * @return the summaries, by key
	 */
	public Map<String, KeySummary> summaries(Kind kind, long now) {
		Map<String, KeySummary> summaries = new HashMap<>();
		waits().filter((wait) -> wait.resource().kind() == kind)
			.forEach((wait) -> summaries.merge(wait.resource().key(), new KeySummary(1, Long.MAX_VALUE, 0),
					KeySummary::and));
		holds().filter((hold) -> hold.resource().kind() == kind && hold.mode() != null).forEach((hold) -> {
			long since = now - TimeUnit.MILLISECONDS.toMicros(hold.millis());
			summaries.merge(hold.resource().key(), (hold.mode() == LockMode.READ) ? new KeySummary(0, since, 0)
					: new KeySummary(0, Long.MAX_VALUE, since), KeySummary::and);
		});
		return summaries;
	}

	/**
	 * Return the entries that a later report has, too. All of them held at once at some
	 * moment between the two reports.
	 * @param later the later reports
	 * @return the common entries
	 */
	FleetReport entriesAlsoIn(FleetReport later) {
		Set<EntryIdentity> holds = later.holds().map(EntryIdentity::of).collect(Collectors.toSet());
		Set<EntryIdentity> waits = later.waits().map(EntryIdentity::of).collect(Collectors.toSet());
		return new FleetReport(this.reports.stream()
			.map((report) -> new InstanceReport(report.instance(),
					report.holds().stream().filter((hold) -> holds.contains(EntryIdentity.of(hold))).toList(),
					report.waits().stream().filter((wait) -> waits.contains(EntryIdentity.of(wait))).toList(),
					report.cut()))
			.toList(), this.silent);
	}

	/**
	 * Summary of the instances' reports on one key.
	 *
	 * @param waits the minimum number of waiters, in the store's queue or only within
	 * their instances
	 * @param since the time of the oldest reader's grant, in microseconds since 1970;
	 * {@link Long#MAX_VALUE} if it is not known
	 * @param exclusiveSince the time of the latest exclusive grant, as older exclusive
	 * holds are lost; 0 if it is not known
	 */
	public record KeySummary(int waits, long since, long exclusiveSince) {

		/** Summary of a key without reports. */
		public static final KeySummary NOTHING = new KeySummary(0, Long.MAX_VALUE, 0);

		private KeySummary and(KeySummary other) {
			return new KeySummary(this.waits + other.waits, Math.min(this.since, other.since),
					Math.max(this.exclusiveSince, other.exclusiveSince));
		}

		/**
		 * Return the time since which the key is held.
		 * @param fence the fencing token, which is the time of the last grant, and for
		 * exclusive locks more precise than the report; 0 if the store has none, as after
		 * a long hold
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

	/**
	 * Identity of a hold or wait. The number of a request alone does not suffice, because
	 * a token may be handed over to another thread.
	 */
	private record EntryIdentity(String instance, long number, long threadId, long fence) {

		static EntryIdentity of(Entry entry) {
			return new EntryIdentity(entry.instance(), entry.number(), entry.threadId(), entry.fence());
		}

	}

}
