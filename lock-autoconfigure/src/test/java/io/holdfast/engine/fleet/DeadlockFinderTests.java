package io.holdfast.engine.fleet;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import io.holdfast.engine.InstanceReport;
import io.holdfast.engine.InstanceReport.Entry;
import io.holdfast.engine.fleet.Deadlock.Actor;
import io.holdfast.engine.fleet.Deadlock.ThreadWait;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Cycles of threads that wait for each other.
 */
class DeadlockFinderTests {

	/** Held and awaited keys of threads, by instance. */
	private final Map<String, List<Entry>> holds = new LinkedHashMap<>();

	private final Map<String, List<Entry>> waits = new LinkedHashMap<>();

	private int number;

	private void holds(String thread, String key) {
		add(this.holds, thread, Kind.LOCK, key);
	}

	private void reads(String thread, String key) {
		add(this.holds, thread, Kind.LOCK, key);
	}

	private void waits(String thread, String key) {
		add(this.waits, thread, Kind.LOCK, key);
	}

	/** Threads have the letter of their instance and a number; 0 is no thread. */
	private void add(Map<String, List<Entry>> where, String thread, Kind kind, String key) {
		long threadId = Long.parseLong(thread.substring(1));
		where.computeIfAbsent(thread.substring(0, 1), (k) -> new ArrayList<>())
			.add(new Entry(thread.substring(0, 1), ++this.number, new Resource(kind, key), 1, null,
					(threadId != 0) ? thread : null, threadId, 0, 0, 0, null));
	}

	private List<InstanceReport> reports() {
		List<InstanceReport> reports = new ArrayList<>();
		for (String instance : new String[] { "A", "B", "C" }) {
			reports.add(new InstanceReport(instance, this.holds.getOrDefault(instance, List.of()),
					this.waits.getOrDefault(instance, List.of()), false));
		}
		return reports;
	}

	private List<String> cycles() {
		return DeadlockFinder.find(new FleetReport(reports(), List.of()))
			.stream()
			.map(DeadlockFinderTests::text)
			.sorted()
			.toList();
	}

	/** Starts with the first instance of the cycle. */
	private static String text(Deadlock found) {
		List<ThreadWait> cycle = new ArrayList<>(found.waits());
		Collections.rotate(cycle,
				-cycle.indexOf(cycle.stream().min(Comparator.comparing(ThreadWait::instance)).orElseThrow()));
		StringBuilder text = new StringBuilder();
		for (int i = 0; i < cycle.size(); i++) {
			ThreadWait wait = cycle.get(i);
			ThreadWait next = cycle.get((i + 1) % cycle.size());
			assertThat(wait.holder()).isEqualTo(new Actor(next.instance(), next.thread()));
			text.append(wait.instance()).append(wait.thread()).append(" ").append(wait.key()).append(" ");
		}
		return text.toString().strip();
	}

	@Test
	@DisplayName("Two threads that wait for each other are a cycle, in one instance or in two")
	void findsTwo() {
		holds("A1", "x");
		waits("A1", "y");
		holds("B1", "y");
		waits("B1", "x");
		holds("C1", "p");
		waits("C1", "q");
		holds("C2", "q");
		waits("C2", "p");
		assertThat(cycles()).containsExactly("AA1 y BB1 x", "CC1 q CC2 p");
	}

	@Test
	@DisplayName("A chain is no cycle, and neither is a holder without waiters")
	void findsNoneInChain() {
		holds("A1", "x");
		waits("A1", "y");
		holds("B1", "y");
		waits("B1", "z");
		holds("C1", "z");
		waits("C2", "x");
		assertThat(cycles()).isEmpty();
		waits("C1", "x");
		assertThat(cycles()).containsExactly("AA1 y BB1 z CC1 x");
	}

	@Test
	@DisplayName("Threads of the same number in two instances are two threads")
	void tellsThreadsOfInstancesApart() {
		holds("A1", "x");
		waits("B1", "x");
		holds("B2", "y");
		waits("A1", "y");
		assertThat(cycles()).isEmpty();
	}

	@Test
	@DisplayName("A thread that waits for a lock waits for all of its readers")
	void waitsForAllReaders() {
		reads("A1", "x");
		reads("B1", "x");
		reads("C1", "x");
		waits("C2", "x");
		assertThat(cycles()).isEmpty();
		holds("C2", "y");
		waits("B1", "y");
		assertThat(cycles()).containsExactly("BB1 y CC2 x");
	}

	@Test
	@DisplayName("A thread that waits for its own lock waits for ever")
	void findsOne() {
		holds("A1", "x");
		waits("A1", "x");
		assertThat(cycles()).containsExactly("AA1 x");
	}

	@Test
	@DisplayName("Holds without a thread, and semaphores, are in no cycle")
	void leavesOutWhatHasNoThread() {
		holds("A0", "x");
		waits("A0", "y");
		holds("B1", "y");
		waits("B1", "x");
		add(this.holds, "C1", Kind.SEMAPHORE, "s");
		add(this.waits, "C2", Kind.SEMAPHORE, "s");
		holds("C2", "z");
		waits("C1", "z");
		assertThat(cycles()).isEmpty();
	}

	@Test
	@DisplayName("Of overlapping cycles a single cycle is reported")
	void tellsOneOfEntangled() {
		reads("A1", "x");
		reads("B1", "x");
		waits("C1", "x");
		holds("C1", "y");
		waits("A1", "y");
		waits("B1", "z");
		holds("C2", "z");
		waits("C2", "y");
		assertThat(cycles()).singleElement().asString().contains("CC1 x");
	}

	@Test
	@DisplayName("A thread that waits for a cycle is not part of the cycle")
	void leavesOutBystanders() {
		holds("A1", "x");
		waits("A1", "y");
		holds("B1", "y");
		waits("B1", "x");
		waits("C1", "x");
		holds("C1", "z");
		waits("C2", "z");
		assertThat(cycles()).containsExactly("AA1 y BB1 x");
	}

	@Test
	@DisplayName("Many threads and keys take little time")
	void findsAmongMany() {
		for (int i = 1; i <= 20_000; i++) {
			holds("A" + i, "key" + i);
			waits("A" + i, "key" + (i + 1));
		}
		assertThat(cycles()).isEmpty();
		waits("B1", "key1");
		holds("B1", "key20001");
		assertThat(DeadlockFinder.find(new FleetReport(reports(), List.of()))).singleElement()
			.satisfies((cycle) -> assertThat(cycle.waits()).hasSize(20_001));
	}

	@Test
	@DisplayName("Only holds and waits that last over both reports count")
	void keepsWhatLasts() {
		holds("A1", "x");
		waits("A1", "y");
		holds("B1", "y");
		waits("B1", "x");
		FleetReport first = new FleetReport(reports(), List.of());
		assertThat(DeadlockFinder.find(first.entriesAlsoIn(first))).hasSize(1);
		this.waits.remove("B");
		waits("B1", "x");
		assertThat(cycles()).hasSize(1);
		assertThat(DeadlockFinder.find(first.entriesAlsoIn(new FleetReport(reports(), List.of())))).isEmpty();
	}

}
