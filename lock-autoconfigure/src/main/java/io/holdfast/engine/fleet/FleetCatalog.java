package io.holdfast.engine.fleet;

import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.stream.Stream;

import io.holdfast.engine.fleet.Fleet.Found;
import io.holdfast.engine.fleet.Fleet.Standings;
import io.holdfast.engine.fleet.FleetReport.KeySummary;
import io.holdfast.engine.fleet.StandingQuery.Order;
import io.holdfast.engine.fleet.StandingQuery.State;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import org.jspecify.annotations.Nullable;

/**
 * Catalogue of all resources of one kind in the store, for searches and sorted pages. The
 * store is scanned only by queries. Each query continues the scan for one second at most,
 * and returns the last complete edition, if there is one. After a scan, the next scan
 * waits for nine times the duration of the scan. Thread-safe.
 */
final class FleetCatalog {

	/** Maximum number of listed resources. */
	static final int MOST = 200_000;

	private static final long STEP_NANOS = TimeUnit.SECONDS.toNanos(1);

	private static final long SHORTEST_REST = TimeUnit.MILLISECONDS.toNanos(500);

	private static final int REST_TO_WORK = 9;

	private final LongSupplier clock;

	private final Function<@Nullable String, Standings> source;

	private final Function<Stream<String>, List<Standing>> look;

	/** Held by the scanning thread. */
	private final ReentrantLock scanning = new ReentrantLock();

	private volatile @Nullable Edition current;

	// Guarded by 'scanning':

	/** Findings of the unfinished scan, or {@code null}. */
	private @Nullable Map<String, Line> findings;

	private @Nullable String cursor;

	private long scanStartedAt;

	private long scannedNanos;

	private long restUntil;

	/**
	 * Create a catalogue.
	 * @param source returns a part of all resources from a cursor on; blocks
	 * @param look returns the current holders and waiters of keys; blocks
	 */
	FleetCatalog(LongSupplier clock, Function<@Nullable String, Standings> source,
			Function<Stream<String>, List<Standing>> look) {
		this.clock = clock;
		this.source = source;
		this.look = look;
	}

	/**
	 * Find a page. Blocks during the scan: for one second or, for the first edition,
	 * until other scanning threads have finished, too.
	 * @param summaries the summaries of the instances' reports, by key
	 */
	Found find(StandingQuery query, Map<String, KeySummary> summaries) {
		Edition edition = edition();
		List<Line> lines = edition.lines.values().stream().map((line) -> line.with(summaries.get(line.key))).toList();
		List<Line> matching = lines.stream().filter(matcher(query)).sorted(comparator(query.order())).toList();
		int from = (int) Math.min(matching.size(), (query.page() - 1L) * query.size());
		List<Line> page = matching.subList(from, Math.min(matching.size(), from + query.size()));
		List<Standing> standings = this.look.apply(page.stream().map(Line::key));
		Set<String> late = new HashSet<>();
		for (int i = 0; i < standings.size(); i++) {
			if (page.get(i).isLate(standings.get(i))) {
				late.add(page.get(i).key);
			}
		}
		return new Found(standings, late, matching.size(), lines.size(),
				(int) lines.stream().filter(Line::isHeld).count(), lines.stream().mapToLong(Line::waiting).sum(),
				edition.complete, Duration.ofNanos(this.clock.getAsLong() - edition.at));
	}

	private static Predicate<Line> matcher(StandingQuery query) {
		String search = (query.search() != null) ? query.search().toLowerCase(Locale.ROOT) : "";
		return (line) -> (query.state() != State.CONTENDED || line.waiting > 0)
				&& (query.state() != State.NOT_RENEWED || line.isLate() || line.isEndless())
				&& (query.state() != State.FOREIGN || line.foreign)
				&& (query.grantedBefore() == Long.MAX_VALUE
						|| line.isHeld() && line.since > 0 && line.since < query.grantedBefore())
				&& (search.isEmpty() || line.key.toLowerCase(Locale.ROOT).contains(search));
	}

	private static Comparator<Line> comparator(Order order) {
		Comparator<Line> byKey = Comparator.comparing(Line::key);
		return switch (order) {
			case KEY -> byKey;
			case WAITERS -> Comparator.<Line>comparingInt((line) -> -line.waiting).thenComparing(byKey);
			case AGE -> Comparator.<Line>comparingLong((line) -> line.isHeld() ? line.since : Long.MAX_VALUE)
				.thenComparing(byKey);
		};
	}

	private Edition edition() {
		Edition last = this.current;
		// With a complete edition, there is no need to wait for a scanning thread.
		if (last != null && last.complete) {
			if (this.scanning.tryLock()) {
				scan();
			}
		}
		else {
			this.scanning.lock();
			scan();
		}
		Edition edition = this.current;
		return (edition != null) ? edition : new Edition(Map.of(), false, this.clock.getAsLong());
	}

	/** Continue the scan for one second, and unlock. */
	private void scan() {
		try {
			long start = this.clock.getAsLong();
			Map<String, Line> lines = this.findings;
			if (lines == null) {
				if (this.current != null && start - this.restUntil < 0) {
					return;
				}
				lines = new HashMap<>();
				this.findings = lines;
				this.cursor = null;
				this.scanStartedAt = start;
				this.scannedNanos = 0;
			}
			Edition before = this.current;
			do {
				Standings part = this.source.apply(this.cursor);
				for (Standing standing : part.standings()) {
					String key = standing.resource().key();
					lines.put(key, Line.of(standing, (before != null) ? before.lines.get(key) : null));
				}
				this.cursor = part.cursor();
			}
			while (this.cursor != null && lines.size() < MOST && this.clock.getAsLong() - start < STEP_NANOS);
			this.scannedNanos += this.clock.getAsLong() - start;
			publish(lines, before);
		}
		catch (RuntimeException ex) {
			this.findings = null;
			throw ex;
		}
		finally {
			this.scanning.unlock();
		}
	}

	private void publish(Map<String, Line> lines, @Nullable Edition before) {
		boolean ended = this.cursor == null || lines.size() >= MOST;
		if (ended || before == null || !before.complete) {
			this.current = new Edition(Map.copyOf(lines), this.cursor == null, this.scanStartedAt);
		}
		if (ended) {
			this.findings = null;
			this.restUntil = this.clock.getAsLong() + Math.max(SHORTEST_REST, REST_TO_WORK * this.scannedNanos);
		}
	}

	/** Result of a scan. */
	private record Edition(Map<String, Line> lines, boolean complete, long at) {
	}

	/**
	 * Compact summary of a standing: there may be many.
	 *
	 * @param key the key
	 * @param fence the fencing token, 0 if it is not known
	 * @param since the time of the grant; for readers, of the oldest known grant
	 * @param foreign whether the holder is a client other than Holdfast
	 * @param waiting the number of waiters
	 * @param holder the number of the first holder's request, -1 if there is no holder
	 * @param ttlMillis the time to live of the first holder, -1 if there is no holder
	 * @param longestMillis the longest time to live seen for the first holder
	 */
	private record Line(String key, long fence, long since, boolean foreign, int waiting, long holder, long ttlMillis,
			long longestMillis) {

		private static Line of(Standing standing, @Nullable Line before) {
			TokenState first = standing.holders().isEmpty() ? null : standing.holders().get(0);
			boolean foreign = standing.isForeign();
			long fence = foreign ? 0 : standing.fence();
			long holder = (first != null) ? first.number() : -1;
			long ttl = (first != null) ? first.ttlMillis() : -1;
			long longest = (before != null && before.holder == holder && before.fence == fence)
					? Math.max(before.longestMillis, ttl) : ttl;
			return new Line(standing.resource().key(), fence, fence, foreign, standing.waiting(), holder, ttl, longest);
		}

		private Line with(@Nullable KeySummary summary) {
			return (summary == null) ? this
					: new Line(this.key, this.fence, this.foreign ? 0 : summary.heldSince(this.fence), this.foreign,
							Math.max(this.waiting, summary.waits()), this.holder, this.ttlMillis, this.longestMillis);
		}

		private boolean isHeld() {
			return this.holder >= 0;
		}

		private boolean isEndless() {
			return isHeld() && this.ttlMillis < 0;
		}

		/**
		 * Return whether a renewal is overdue. Leases are renewed when two thirds of them
		 * are left.
		 */
		private boolean isLate(Standing now) {
			return Line.of(now, this).isLate();
		}

		private boolean isLate() {
			return this.ttlMillis >= 0 && this.ttlMillis < this.longestMillis / 2;
		}

	}

}
