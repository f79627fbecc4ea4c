package io.holdfast.engine.fleet;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

import io.holdfast.engine.fleet.Fleet.Found;
import io.holdfast.engine.fleet.Fleet.Standings;
import io.holdfast.engine.fleet.StandingQuery.Order;
import io.holdfast.engine.fleet.StandingQuery.State;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Content, age and cost of the catalogue of locks.
 */
class FleetCatalogTests {

	private static final int PART = 10;

	private final TreeMap<String, Standing> stored = new TreeMap<>();

	private long now = 1_000_000_000_000L;

	private long partNanos;

	private int parts;

	private boolean broken;

	private final FleetCatalog catalog = new FleetCatalog(() -> this.now, this::part,
			(keys) -> keys.map(this.stored::get).toList());

	private Standings part(@Nullable String cursor) {
		if (this.broken) {
			throw new IllegalStateException("away");
		}
		this.parts++;
		this.now += this.partNanos;
		List<Standing> rest = List.copyOf(this.stored.tailMap((cursor != null) ? cursor : "", false).values());
		List<Standing> some = rest.subList(0, Math.min(PART, rest.size()));
		return new Standings(some, (some.size() < rest.size()) ? some.get(PART - 1).resource().key() : null);
	}

	private static String key(Standing standing) {
		return standing.resource().key();
	}

	private void put(String key, long fence, int waiting, long ttlMillis) {
		TokenState holder = new TokenState("0123456789abcdef".repeat(2) + ":1", 1, ttlMillis);
		this.stored.put(key, new Standing(new Resource(Kind.LOCK, key), ttlMillis, fence, null, 0, 0,
				(fence > 0) ? 1 : 0, (fence > 0) ? List.of(holder) : List.of(), waiting, List.of()));
	}

	/** With an earlier hold's fence. */
	private void putForeign(String key, long fence, long ttlMillis) {
		this.stored.put(key, new Standing(new Resource(Kind.LOCK, key), ttlMillis, fence, null, 0, 0, 1,
				List.of(new TokenState("stranger", Resource.ALL, ttlMillis)), 0, List.of()));
	}

	private void putMany(int count) {
		IntStream.range(0, count).forEach((i) -> put(String.format("stock:%05d", i), 1000 + i, 0, 30_000));
	}

	private Found find(@Nullable String search, @Nullable State state, Order order) {
		return this.catalog.find(new StandingQuery(search, state, Long.MAX_VALUE, order, 1, 3), Map.of());
	}

	private Found all() {
		return find(null, null, Order.KEY);
	}

	private void pass(Duration time) {
		this.now += time.toNanos();
	}

	@Test
	@DisplayName("The catalogue counts all locks, finds keys by a part in any case, and sorts pages by key")
	void searches() {
		putMany(25);
		put("Order:1", 7, 0, 30_000);
		put("order:2", 9, 3, 30_000);
		Found found = find("oRDer", null, Order.KEY);
		assertThat(found.standings()).extracting(FleetCatalogTests::key).containsExactly("Order:1", "order:2");
		assertThat(found).extracting(Found::matching, Found::total, Found::held, Found::waiting)
			.containsExactly(2, 27, 27, 3L);
		Found last = this.catalog.find(new StandingQuery("stock", null, Long.MAX_VALUE, Order.KEY, 9, 3), Map.of());
		assertThat(last.standings()).extracting(FleetCatalogTests::key).containsExactly("stock:00024");
		assertThat(this.catalog
			.find(new StandingQuery(null, null, Long.MAX_VALUE, Order.KEY, Integer.MAX_VALUE, 1000), Map.of())
			.standings()).isEmpty();
	}

	@Test
	@DisplayName("The catalogue sorts by waiters and by age, unknown ages first, and filters contended, foreign and"
			+ " old locks")
	void sortsAndFilters() {
		put("young", 900, 1, 30_000);
		put("old", 100, 0, 30_000);
		put("free", 0, 5, 0);
		putForeign("foreign", 50, 60_000);
		assertThat(find(null, null, Order.WAITERS).standings()).extracting(FleetCatalogTests::key)
			.containsExactly("free", "young", "foreign");
		assertThat(find(null, null, Order.AGE).standings()).extracting(FleetCatalogTests::key)
			.containsExactly("foreign", "old", "young");
		assertThat(find(null, State.FOREIGN, Order.KEY).standings()).extracting(FleetCatalogTests::key)
			.containsExactly("foreign");
		assertThat(find(null, State.CONTENDED, Order.KEY).standings()).extracting(FleetCatalogTests::key)
			.containsExactly("free", "young");
		assertThat(this.catalog.find(new StandingQuery(null, null, 500, Order.KEY, 1, 3), Map.of()).standings())
			.extracting(FleetCatalogTests::key)
			.containsExactly("old");
		assertThat(all().held()).isEqualTo(3);
	}

	@Test
	@DisplayName("A lock without an end, or with less than half of its longest remaining time, counts as not renewed;"
			+ " a new hold starts again")
	void tellsWhatIsNotRenewed() {
		put("frozen", 100, 0, 30_000);
		put("short", 200, 0, 5_000);
		put("endless", 300, 0, -1);
		assertThat(find(null, State.NOT_RENEWED, Order.KEY).standings()).extracting(FleetCatalogTests::key)
			.containsExactly("endless");
		pass(Duration.ofSeconds(16));
		put("frozen", 100, 0, 14_000);
		put("short", 200, 0, 3_400);
		assertThat(find(null, State.NOT_RENEWED, Order.KEY).standings()).extracting(FleetCatalogTests::key)
			.containsExactly("endless", "frozen");
		pass(Duration.ofSeconds(16));
		put("frozen", 101, 0, 10_000);
		assertThat(find(null, State.NOT_RENEWED, Order.KEY).standings()).extracting(FleetCatalogTests::key)
			.containsExactly("endless");
	}

	@Test
	@DisplayName("The next walk over the store starts after a pause of nine times the last walk")
	void rests() {
		this.partNanos = Duration.ofMillis(100).toNanos();
		putMany(30);
		all();
		assertThat(this.parts).isEqualTo(3);
		putMany(31);
		pass(Duration.ofMillis(2_699));
		assertThat(all().total()).isEqualTo(30);
		assertThat(this.parts).isEqualTo(3);
		pass(Duration.ofMillis(1));
		assertThat(all().total()).isEqualTo(31);
		assertThat(this.parts).isEqualTo(7);
	}

	@Test
	@DisplayName("A search takes a second at most: the first results are marked as incomplete, later ones use the last"
			+ " complete walk")
	void answersInParts() {
		this.partNanos = Duration.ofMillis(100).toNanos();
		putMany(250);
		Found first = all();
		assertThat(first).extracting(Found::total, Found::complete).containsExactly(100, false);
		assertThat(all()).extracting(Found::total, Found::complete).containsExactly(200, false);
		assertThat(all()).extracting(Found::total, Found::complete).containsExactly(250, true);
		long complete = this.now;
		pass(Duration.ofSeconds(30));
		putMany(260);
		Found old = all();
		assertThat(old).extracting(Found::total, Found::complete).containsExactly(250, true);
		assertThat(old.age()).isGreaterThanOrEqualTo(Duration.ofNanos(this.now - complete));
		all();
		assertThat(all()).extracting(Found::total, Found::complete).containsExactly(260, true);
	}

	@Test
	@DisplayName("A failed walk starts again")
	void beginsAnew() {
		putMany(15);
		this.broken = true;
		assertThatIllegalStateException().isThrownBy(this::all);
		this.broken = false;
		assertThat(all().total()).isEqualTo(15);
	}

	@Test
	@DisplayName("The catalogue has a maximum size, and marks the result as incomplete")
	void endsAtMost() {
		putMany(2_000);
		FleetCatalog endless = new FleetCatalog(() -> this.now, (cursor) -> {
			int from = (cursor != null) ? Integer.parseInt(cursor) : 0;
			return new Standings(IntStream.range(from, from + 1000)
				.mapToObj((i) -> new Standing(new Resource(Kind.LOCK, "k" + i), 0, 0, null, 0, 0, 0, List.of(), 1,
						List.of()))
				.toList(), String.valueOf(from + 1000));
		}, (keys) -> List.of());
		Found found = endless.find(new StandingQuery(null, null, Long.MAX_VALUE, Order.KEY, 1, 1), Map.of());
		assertThat(found).extracting(Found::total, Found::complete).containsExactly(200_000, false);
	}

}
