package io.holdfast.engine.fleet;

import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

import io.holdfast.engine.fleet.Fleet.Standings;
import io.holdfast.engine.fleet.FleetReport.Told;
import io.holdfast.engine.fleet.StandingQuery.Order;
import io.holdfast.engine.fleet.StandingQuery.State;
import io.holdfast.engine.store.FleetStore.Standing;
import io.holdfast.engine.store.FleetStore.TokenState;
import org.jspecify.annotations.Nullable;

/**
 * Catalogue of all that the store keeps of one family, for searches and sorted pages. It
 * is written only while it is asked for: each question goes on for a second at most, and
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
	 */
	FleetCatalog(LongSupplier clock, Function<@Nullable String, Standings> source) {
		this.clock = clock;
		this.source = source;
	}

	/**
	 * Find a page. Blocks while the store is asked: for a second, or until others that
	 * ask for the first time have done so.
	 * @param told the reports of instances by key
	 */
	Selection find(StandingQuery query, Map<String, Told> told) {
		Edition edition = edition();
		List<Line> matching = edition.in(query.order())
			.stream()
			.map((line) -> line.with(told.get(line.key)))
			.filter(matcher(query))
			.sorted(Edition.comparator(query.order()))
			.toList();
		int from = (int) Math.min(matching.size(), (query.page() - 1L) * query.size());
		List<Line> page = matching.subList(from, Math.min(matching.size(), from + query.size()));
		return new Selection(List.copyOf(page), matching.size(), edition.lines.size(), edition.held,
				edition.waiting(told), edition.complete, this.clock.getAsLong() - edition.at);
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

	/**
	 * A page, and how much there is.
	 *
	 * @param lines the lines of the page
	 * @param matching how many match the query
	 * @param total how many there are
	 * @param held how many of them are held
	 * @param waiting how many wait
	 * @param complete whether that is all
	 * @param ageNanos how old it is
	 */
	record Selection(List<Line> lines, int matching, int total, int held, long waiting, boolean complete,
			long ageNanos) {
	}

	/** The outcome of a walk. */
	private static final class Edition {

		private static final Comparator<Line> BY_KEY = Comparator.comparing((line) -> line.key);

		private final Map<String, Line> lines;

		private final int held;

		private final long waiting;

		private final boolean complete;

		private final long at;

		/** Made when they are asked for. */
		private final Map<Order, List<Line>> sorted = new EnumMap<>(Order.class);

		Edition(Map<String, Line> lines, boolean complete, long at) {
			this.lines = lines;
			this.held = (int) lines.values().stream().filter(Line::isHeld).count();
			this.waiting = lines.values().stream().mapToLong((line) -> line.waiting).sum();
			this.complete = complete;
			this.at = at;
		}

		synchronized List<Line> in(Order order) {
			return this.sorted.computeIfAbsent(order,
					(wanted) -> this.lines.values().stream().sorted(comparator(wanted)).toList());
		}

		static Comparator<Line> comparator(Order order) {
			return switch (order) {
				case KEY -> BY_KEY;
				case WAITERS -> Comparator.<Line>comparingInt((line) -> -line.waiting).thenComparing(BY_KEY);
				case AGE -> Comparator.<Line>comparingLong((line) -> line.isHeld() ? line.since : Long.MAX_VALUE)
					.thenComparing(BY_KEY);
			};
		}

		long waiting(Map<String, Told> told) {
			return this.waiting + told.entrySet().stream().mapToLong((each) -> {
				Line line = this.lines.get(each.getKey());
				return (line != null) ? Math.max(0, each.getValue().waits() - line.waiting) : 0;
			}).sum();
		}

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
	record Line(String key, long fence, long since, boolean foreign, int waiting, long holder, long ttlMillis,
			long longestMillis) {

		static Line of(Standing standing, @Nullable Line before) {
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

		boolean isHeld() {
			return this.holder >= 0;
		}

		private boolean isEndless() {
			return isHeld() && this.ttlMillis < 0;
		}

		/** A lease is renewed when two thirds of it are left. */
		boolean isLate(Standing now) {
			return Line.of(now, this).isLate();
		}

		private boolean isLate() {
			return this.ttlMillis >= 0 && this.ttlMillis < this.longestMillis / 2;
		}

	}

}
