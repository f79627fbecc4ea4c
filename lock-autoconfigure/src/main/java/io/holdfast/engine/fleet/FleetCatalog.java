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
import io.holdfast.engine.fleet.FleetReport.Told;
import io.holdfast.engine.fleet.StandingQuery.Order;
import io.holdfast.engine.fleet.StandingQuery.State;
import io.holdfast.engine.store.FleetStore.Standing;
import io.holdfast.engine.store.FleetStore.TokenState;
import org.jspecify.annotations.Nullable;

/**
 * Catalogue of all that the store keeps of one kind, for searches and sorted pages. It is
 * written only while it is asked for: each question goes on for a second at most, and
 * gets the last complete one, if there is any. Between two walks over the store there is
 * a rest of nine times as long. Thread-safe.
 */
final class FleetCatalog {

	/** More is not listed. */
	static final int MOST = 200_000;

	private static final long STEP_NANOS = TimeUnit.SECONDS.toNanos(1);

	private static final long SHORTEST_REST = TimeUnit.MILLISECONDS.toNanos(500);

	private static final int REST_TO_WORK = 9;

	private final LongSupplier clock;

	private final Function<@Nullable String, Standings> source;

	private final Function<Stream<String>, List<Standing>> look;

	/** Held by the one that walks. */
	private final ReentrantLock walking = new ReentrantLock();

	private volatile @Nullable Edition current;

	// Guarded by 'walking':

	/** Findings of the walk that has not ended, or {@code null}. */
	private @Nullable Map<String, Line> found;

	private @Nullable String cursor;

	private long begunAt;

	private long worked;

	private long restUntil;

	/**
	 * Create it.
	 * @param source gives a part of all that there is from a cursor on; blocks
	 * @param look gives the holders and waiters of keys as they are now; blocks
	 */
	FleetCatalog(LongSupplier clock, Function<@Nullable String, Standings> source,
			Function<Stream<String>, List<Standing>> look) {
		this.clock = clock;
		this.source = source;
		this.look = look;
	}

	/**
	 * Find a page. Blocks while the store is asked: for a second, or until others that
	 * ask for the first time have done so.
	 * @param told the reports of instances by key
	 */
	Found find(StandingQuery query, Map<String, Told> told) {
		Edition edition = edition();
		List<Line> lines = edition.lines.values().stream().map((line) -> line.with(told.get(line.key))).toList();
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
		// Others need not wait for the one that walks if there is something to tell.
		if (last != null && last.complete) {
			if (this.walking.tryLock()) {
				walk();
			}
		}
		else {
			this.walking.lock();
			walk();
		}
		Edition edition = this.current;
		return (edition != null) ? edition : new Edition(Map.of(), false, this.clock.getAsLong());
	}

	/** Go on for a second; unlocks in the end. */
	private void walk() {
		try {
			long start = this.clock.getAsLong();
			Map<String, Line> lines = this.found;
			if (lines == null) {
				if (this.current != null && start - this.restUntil < 0) {
					return;
				}
				lines = new HashMap<>();
				this.found = lines;
				this.cursor = null;
				this.begunAt = start;
				this.worked = 0;
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
			this.worked += this.clock.getAsLong() - start;
			publish(lines, before);
		}
		catch (RuntimeException ex) {
			this.found = null;
			throw ex;
		}
		finally {
			this.walking.unlock();
		}
	}

	private void publish(Map<String, Line> lines, @Nullable Edition before) {
		boolean ended = this.cursor == null || lines.size() >= MOST;
		if (ended || before == null || !before.complete) {
			this.current = new Edition(Map.copyOf(lines), this.cursor == null, this.begunAt);
		}
		if (ended) {
			this.found = null;
			this.restUntil = this.clock.getAsLong() + Math.max(SHORTEST_REST, REST_TO_WORK * this.worked);
		}
	}

	/** The outcome of a walk. */
	private record Edition(Map<String, Line> lines, boolean complete, long at) {
	}

	/**
	 * Summary of a standing: little, as there may be many.
	 *
	 * @param key its key
	 * @param fence its fencing token, 0 if that is not known
	 * @param since when it was granted; of readers, as far as is known, the oldest one
	 * @param foreign whether its holder is another program
	 * @param waiting how many wait
	 * @param holder the number of the first holder's request, -1 if there is no holder
	 * @param ttlMillis the time to live of the first holder, -1 if there is no holder
	 * @param longestMillis the longest time to live of the same hold that was seen
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

		private Line with(@Nullable Told told) {
			return (told == null) ? this
					: new Line(this.key, this.fence, this.foreign ? 0 : told.heldSince(this.fence), this.foreign,
							Math.max(this.waiting, told.waits()), this.holder, this.ttlMillis, this.longestMillis);
		}

		private boolean isHeld() {
			return this.holder >= 0;
		}

		private boolean isEndless() {
			return isHeld() && this.ttlMillis < 0;
		}

		/** A lease is renewed when two thirds of it are left. */
		private boolean isLate(Standing now) {
			return Line.of(now, this).isLate();
		}

		private boolean isLate() {
			return this.ttlMillis >= 0 && this.ttlMillis < this.longestMillis / 2;
		}

	}

}
