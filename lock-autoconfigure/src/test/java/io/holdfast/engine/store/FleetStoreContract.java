package io.holdfast.engine.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.IntStream;

import io.holdfast.engine.store.FleetStore.Find;
import io.holdfast.engine.store.FleetStore.Page;
import io.holdfast.engine.store.InstanceStore.Asked;
import io.holdfast.engine.store.InstanceStore.Member;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource.Kind;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.engine.Locks.lock;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

/**
 * Contract of every {@link FleetStore} and {@link InstanceStore}: the lists of holders
 * and waiters, and the register of instances.
 */
public abstract class FleetStoreContract extends StoreContract {

	protected static final Resource SEMAPHORE = new Resource(Kind.SEMAPHORE, KEY);

	private static final int LIMIT = 5;

	protected static AcquireCommand command(Instance instance, String n, int permits) {
		return command(instance, n, permits, LIMIT);
	}

	protected static AcquireCommand command(Instance instance, String n, int permits, int limit) {
		return PermitStoreContract.command(instance, n, permits, limit);
	}

	private static AcquireReply acquire(Instance instance, String n, int permits) {
		return PermitStoreContract.acquire(instance, n, permits);
	}

	/** Return the command with a long lease, for slow scans on a busy machine. */
	private static AcquireCommand lasting(AcquireCommand command) {
		return new AcquireCommand(command.token(), command.permits(), command.limit(), command.fair(), 20 * LEASE,
				command.claimMillis());
	}

	private static AcquireCommand reader(Instance instance, String n) {
		return command(instance, n, 1, Resource.ALL);
	}

	private static AcquireCommand writer(Instance instance, String n) {
		return command(instance, n, Resource.ALL, Resource.ALL);
	}

	protected final Standing look(Kind kind, String key) {
		return get(this.c.store.inspect(new Resource(kind, key), 10, 10));
	}

	/** Return all keys of a scan, with repetitions. */
	protected final List<String> walk(Kind kind, int wanted) {
		List<String> keys = new ArrayList<>();
		String cursor = null;
		do {
			Page page = get(this.c.store.fleet().scan(kind, cursor, wanted));
			for (Find find : page.finds()) {
				if (find.counts(look(kind, find.key()))) {
					keys.add(find.key());
				}
			}
			cursor = page.cursor();
		}
		while (cursor != null);
		return keys;
	}

	private static List<String> places(List<TokenState> places) {
		return places.stream().map((place) -> place.token() + " " + place.permits()).toList();
	}

	@Test
	@DisplayName("A scan finds each lock and semaphore once, with any page size")
	void findsAllOnce() {
		TreeSet<String> locks = new TreeSet<>();
		TreeSet<String> semaphores = new TreeSet<>();
		for (int i = 0; i < 40; i++) {
			granted(this.a.acquire(lock("stock:" + i), lasting(Commands.forLock(this.a.token("1"), LEASE, CLAIM))));
			busy(this.b.acquire(lock("stock:" + i), Commands.forLock(this.b.token("1"), LEASE, CLAIM)));
			granted(this.a.acquire(new Resource(Kind.LOCK, "price {" + i + "}:x"), lasting(reader(this.a, "1"))));
			busy(this.b.acquire(new Resource(Kind.LOCK, "price {" + i + "}:x"), writer(this.b, "1")));
			locks.addAll(List.of("stock:" + i, "price {" + i + "}:x"));
			granted(this.a.acquire(new Resource(Kind.SEMAPHORE, "call:" + i), lasting(command(this.a, "1", LIMIT))));
			busy(this.b.acquire(new Resource(Kind.SEMAPHORE, "call:" + i), command(this.b, "1", 1)));
			get(this.a.store.limit(new Resource(Kind.SEMAPHORE, "{limited:" + i + "}:queue:"), 3));
			semaphores.addAll(List.of("call:" + i, "{limited:" + i + "}:queue:"));
		}
		for (int wanted : new int[] { 1, 7, 80, 1000 }) {
			assertThat(walk(Kind.LOCK, wanted)).as("locks by " + wanted).containsExactlyInAnyOrderElementsOf(locks);
			assertThat(walk(Kind.SEMAPHORE, wanted)).as("semaphores by " + wanted)
				.containsExactlyInAnyOrderElementsOf(semaphores);
		}
		Page first = get(this.c.store.fleet().scan(Kind.LOCK, null, 7));
		assertThat(first.finds()).hasSizeLessThan(40);
		assertThat(first.cursor()).isNotNull();
	}

	@Test
	@DisplayName("An exclusive lock is shown with its owner, its fence and its waiters in order")
	void showsLock() {
		long fence = granted(this.a.acquire("11")).fence();
		busy(this.b.acquire("12"));
		busy(this.c.acquire("13"));
		Standing standing = look(Kind.LOCK, KEY);
		assertThat(standing.resource()).isEqualTo(lock(KEY));
		assertThat(standing.fence()).isEqualTo(fence);
		assertThat(places(standing.holders())).containsExactly(this.a.token("11") + " " + Resource.ALL);
		assertThat(standing.holders().get(0).ttlMillis()).isBetween(LEASE - 5000, LEASE);
		assertThat(places(standing.queue())).containsExactly(this.b.token("12") + " " + Resource.ALL,
				this.c.token("13") + " " + Resource.ALL);
		assertThat(standing).extracting(Standing::holderCount, Standing::waiting).containsExactly(1, 2);
	}

	@Test
	@DisplayName("Readers are shown, with the waiting readers and writers in order")
	void showsReadersAndWriters() {
		granted(this.a.acquire(lock(KEY), reader(this.a, "1")));
		long fence = granted(this.b.acquire(lock(KEY), reader(this.b, "2"))).fence();
		busy(this.c.acquire(lock(KEY), writer(this.c, "3")));
		busy(this.a.acquire(lock(KEY), reader(this.a, "4")));
		Standing standing = look(Kind.LOCK, KEY);
		assertThat(standing.resource()).isEqualTo(lock(KEY));
		assertThat(standing.fence()).isEqualTo(fence);
		assertThat(places(standing.holders())).containsExactlyInAnyOrder(this.a.token("1") + " 1",
				this.b.token("2") + " 1");
		assertThat(standing.holders()).extracting(TokenState::ttlMillis)
			.allSatisfy((ttl) -> assertThat(ttl).isBetween(LEASE - 5000, LEASE));
		assertThat(places(standing.queue())).containsExactly(this.c.token("3") + " " + Resource.ALL,
				this.a.token("4") + " 1");
	}

	@Test
	@DisplayName("A key with waiters of both modes is shown with a common queue")
	void showsBothModes() {
		granted(this.a.acquire("1"));
		busy(this.b.acquire(lock(KEY), reader(this.b, "2")));
		busy(this.c.acquire("3"));
		Standing standing = look(Kind.LOCK, KEY);
		assertThat(places(standing.queue())).containsExactly(this.b.token("2") + " 1",
				this.c.token("3") + " " + Resource.ALL);
		assertThat(standing.waiting()).isEqualTo(2);
		this.a.release("1");
		this.b.awaitWakeUp();
		standing = look(Kind.LOCK, KEY);
		assertThat(places(standing.holders())).containsExactly(this.b.token("2") + " 1");
		assertThat(places(standing.queue())).containsExactly(this.c.token("3") + " " + Resource.ALL);
		assertThat(walk(Kind.LOCK, 10)).containsExactly(KEY);
	}

	@Test
	@DisplayName("A foreign owner is shown as foreign")
	void showsForeignOwner() {
		putForeign(KEY, "a secret", null);
		Standing standing = look(Kind.LOCK, KEY);
		assertThat(standing.isForeign()).isTrue();
		assertThat(standing.holders()).containsExactly(new TokenState("a secret", Resource.ALL, -1));
		assertThat(standing.holders()).extracting(TokenState::instance).containsOnlyNulls();
		assertThat(walk(Kind.LOCK, 10)).containsExactly(KEY);
	}

	@Test
	@DisplayName("A semaphore is shown with its limit, its holders and its waiters in order")
	void showsSemaphore() {
		granted(acquire(this.a, "1", 3));
		granted(acquire(this.b, "2", 1));
		busy(acquire(this.c, "3", 2));
		busy(acquire(this.a, "4", 1));
		Standing standing = look(Kind.SEMAPHORE, KEY);
		assertThat(places(standing.holders())).containsExactlyInAnyOrder(this.a.token("1") + " 3",
				this.b.token("2") + " 1");
		assertThat(places(standing.queue())).containsExactly(this.c.token("3") + " 2", this.a.token("4") + " 1");
		assertThat(standing).extracting(Standing::limit, Standing::asked, Standing::used, Standing::waiting)
			.containsExactly(null, LIMIT, 4, 2);
		get(this.a.store.limit(SEMAPHORE, 2));
		assertThat(look(Kind.SEMAPHORE, KEY)).extracting(Standing::limit, Standing::used).containsExactly(2, 4);
		assertThat(look(Kind.LOCK, KEY).isEmpty()).isTrue();
		assertThat(walk(Kind.LOCK, 10)).isEmpty();
	}

	@Test
	@DisplayName("Holders and waiters are shown up to the requested number, and all are counted")
	void showsUpToTheRequestedNumber() {
		// The last holder ends first.
		IntStream.range(0, LIMIT)
			.forEach((i) -> granted(this.a.acquire(SEMAPHORE,
					new AcquireCommand(this.a.token("" + i), 1, LIMIT, true, LEASE - 1000 * i, CLAIM))));
		IntStream.range(0, 4).forEach((i) -> busy(acquire(this.b, "" + i, 1)));
		Standing standing = get(this.c.store.inspect(new Resource(Kind.SEMAPHORE, KEY), 2, 2));
		assertThat(standing).extracting(Standing::holderCount, Standing::waiting).containsExactly(LIMIT, 4);
		assertThat(places(standing.holders())).containsExactly(this.a.token("4") + " 1", this.a.token("3") + " 1");
		assertThat(places(standing.queue())).containsExactly(this.b.token("0") + " 1", this.b.token("1") + " 1");
		IntStream.range(0, 4).forEach((i) -> granted(this.a.acquire(lock(KEY), reader(this.a, "" + i))));
		IntStream.range(4, 8).forEach((i) -> busy(this.b.acquire(lock(KEY), writer(this.b, "" + i))));
		standing = get(this.c.store.inspect(new Resource(Kind.LOCK, KEY), 3, 3));
		assertThat(standing).extracting(Standing::holderCount, Standing::waiting).containsExactly(4, 4);
		assertThat(standing.holders()).hasSize(3);
		assertThat(standing.queue()).hasSize(3);
		IntStream.range(0, 5)
			.forEach((i) -> this.b.acquire(lock("another"), Commands.forLock(this.b.token("" + i), LEASE, CLAIM)));
		standing = get(this.c.store.inspect(new Resource(Kind.LOCK, "another"), 3, 3));
		assertThat(standing).extracting(Standing::holderCount, Standing::waiting).containsExactly(1, 4);
		assertThat(standing.queue()).hasSize(3);
	}

	@Test
	@DisplayName("Expired holders are not shown, but their waiters are")
	void omitsExpiredHolders() {
		granted(this.a.acquireBriefly("1"));
		granted(this.a.acquire(SEMAPHORE, PermitStoreContract.brief(command(this.a, "2", LIMIT))));
		granted(this.a.acquire(new Resource(Kind.LOCK, "another"), PermitStoreContract.brief(writer(this.a, "3"))));
		busy(this.b.acquire("4"));
		elapse(Duration.ofMillis(SHORT + 20));
		Standing standing = look(Kind.LOCK, KEY);
		assertThat(standing.holders()).isEmpty();
		assertThat(places(standing.queue())).containsExactly(this.b.token("4") + " " + Resource.ALL);
		assertThat(walk(Kind.LOCK, 10)).containsExactly(KEY);
		assertThat(look(Kind.LOCK, "another").isEmpty()).isTrue();
		assertThat(look(Kind.SEMAPHORE, KEY).isEmpty()).isTrue();
		assertThat(walk(Kind.SEMAPHORE, 10)).isEmpty();
	}

	@Test
	@DisplayName("Inspections and scans change nothing")
	void changesNothing() {
		assertThat(look(Kind.LOCK, KEY).isEmpty()).isTrue();
		granted(this.a.acquire("1"));
		busy(this.b.acquire("1"));
		look(Kind.LOCK, KEY);
		walk(Kind.LOCK, 10);
		this.a.release("1");
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
	}

	@Test
	@DisplayName("An invalid cursor is rejected, without repetition of the cursor")
	void refusesInvalidCursors() {
		for (String text : new String[] { "x", "", "0-1\r\nKEYS *", "-1", "1-", "99999999999999999999-1", "16384-0",
				"0-18446744073709551616" }) {
			assertThatIllegalArgumentException().as(text)
				.isThrownBy(() -> this.a.store.fleet().scan(Kind.LOCK, text, 10))
				.withMessageStartingWith("The cursor does not come from a page of this list");
		}
	}

	// Instances

	private static final Duration LONG = Duration.ofMinutes(15);

	private static final InstanceInfo INFO = new InstanceInfo("shop (é) \u001f", "host-1", 4711);

	private static final String REPORT = "0123456789abcdef0123456789abcdef";

	private static void join(Instance instance) {
		join(instance, LONG);
	}

	private static void join(Instance instance, Duration retention) {
		get(instance.store.instances().join(instance.id, INFO, Duration.ofHours(2), retention));
	}

	private List<Member> members() {
		return get(this.a.store.instances().members(LONG, 10));
	}

	private static String shown(Instance instance) {
		return Tokens.shown(instance.id);
	}

	@Test
	@DisplayName("Instances are listed from their join until they leave")
	void listsInstances() {
		assertThat(members()).isEmpty();
		join(this.a);
		elapse(Duration.ofMillis(5));
		join(this.b);
		assertThat(members()).extracting(Member::instance).containsExactly(shown(this.b), shown(this.a));
		assertThat(members()).allSatisfy((member) -> {
			assertThat(member.info()).isEqualTo(new InstanceInfo("shop (é) ?", "host-1", 4711));
			assertThat(member.seenMillis() - member.startedMillis()).isEqualTo(Duration.ofHours(2).toMillis());
			assertThat(member.seenMillis()).isBetween(System.currentTimeMillis() - 60_000,
					System.currentTimeMillis() + 60_000);
			assertThat(member.toString()).doesNotContain(this.a.id, this.b.id);
		});
		assertThat(get(this.a.store.instances().members(LONG, 1))).hasSize(1);
		get(this.b.store.instances().leave(this.b.id));
		get(this.b.store.instances().leave(this.b.id));
		assertThat(members()).extracting(Member::instance).containsExactly(shown(this.a));
	}

	@Test
	@DisplayName("An instance that joins again is listed once, with its last time")
	void joinsAgain() {
		join(this.a);
		Member first = members().get(0);
		elapse(Duration.ofMillis(20));
		get(this.a.store.instances().join(this.a.id, INFO, Duration.ofHours(3), LONG));
		assertThat(members()).singleElement().satisfies((member) -> {
			assertThat(member.seenMillis()).isGreaterThanOrEqualTo(first.seenMillis() + 20);
			assertThat(member.startedMillis()).as("from the first join").isEqualTo(first.startedMillis());
		});
	}

	@Test
	@DisplayName("A silent instance is not listed, and is removed by the join of another instance")
	void forgetsInstances() {
		join(this.a);
		elapse(Duration.ofMillis(SHORT + 20));
		assertThat(get(this.a.store.instances().members(Duration.ofMillis(SHORT), 10))).isEmpty();
		assertThat(members()).hasSize(1);
		join(this.b, Duration.ofMillis(SHORT));
		assertThat(members()).extracting(Member::instance).containsExactly(shown(this.b));
	}

	@Test
	@DisplayName("All other instances are asked for a report, and detected absent instances are named")
	void asks() {
		join(this.a);
		join(this.b);
		join(this.c);
		leave(this.c);
		Asked asked = get(this.a.store.instances().ask(this.a.id, REPORT));
		if (detectsAbsence()) {
			assertThat(asked.present()).containsExactly(shown(this.b));
			assertThat(asked.absent()).containsExactly(shown(this.c));
		}
		else {
			assertThat(asked.present()).containsExactlyInAnyOrder(shown(this.b), shown(this.c));
		}
		await().untilAsserted(() -> assertThat(this.b.reportsWanted).containsExactly(REPORT));
		assertThat(this.a.reportsWanted).isEmpty();
	}

	@Test
	@DisplayName("Answers are collected once: all together, or the available answers")
	void answers() {
		InstanceStore store = this.a.store.instances();
		assertThat(get(store.collect(REPORT, 2))).isEmpty();
		get(this.b.store.instances().answer(REPORT, "one: \u001f\u001e é"));
		assertThat(get(store.collect(REPORT, 2))).isEmpty();
		get(this.c.store.instances().answer(REPORT, "two"));
		assertThat(get(store.collect(REPORT, 2))).containsExactly("one: \u001f\u001e é", "two");
		assertThat(get(store.collect(REPORT, 0))).isEmpty();
		get(this.c.store.instances().answer(REPORT, "three"));
		assertThat(get(store.collect(REPORT, 0))).containsExactly("three");
	}

}
