package io.holdfast.engine;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

import io.holdfast.engine.ThreadWait.WaitingThread;
import io.holdfast.engine.InstanceReport.Entry;
import io.holdfast.engine.Resource.Kind;

/**
 * Finds threads that wait for each other's locks in a circle. A thread that waits for a
 * lock waits for all who hold it; what belongs to no thread waits for no other.
 *
 * <p>
 * The graph of who waits for whom: R. C. Holt, <em>Some Deadlock Properties of Computer
 * Systems</em>, ACM Computing Surveys 4 (1972).
 */
final class DeadlockFinder {

	/** Where so many threads are entangled, more examples do not help. */
	private static final int MOST = 100;

	/** From threads to the keys that they wait for, and from these to their holders. */
	private final Map<Object, Set<Object>> ways = new LinkedHashMap<>();

	private DeadlockFinder(Collection<InstanceReport> reports) {
		for (InstanceReport report : reports) {
			report.waits().stream().filter(DeadlockFinder::counts).forEach((wait) -> {
				way(actor(report, wait), wait.resource().key());
			});
			report.holds().stream().filter(DeadlockFinder::counts).forEach((hold) -> {
				way(hold.resource().key(), actor(report, hold));
			});
		}
	}

	private static boolean counts(Entry entry) {
		return entry.threadId() != 0 && entry.resource().kind() != Kind.SEMAPHORE;
	}

	private void way(Object from, Object to) {
		this.ways.computeIfAbsent(from, (k) -> new LinkedHashSet<>()).add(to);
	}

	/**
	 * Find cycles.
	 * @param reports of all instances
	 * @return of threads that are entangled with each other one cycle, as short as any
	 * with one of them
	 */
	static List<List<ThreadWait>> find(Collection<InstanceReport> reports) {
		DeadlockFinder cycles = new DeadlockFinder(reports);
		return Knots.of(cycles.ways).stream().limit(MOST).map(cycles::shortestIn).toList();
	}

	/** Return the shortest way from a thread back to itself, breadth first. */
	private List<ThreadWait> shortestIn(Set<Object> knot) {
		Object start = knot.stream().filter(WaitingThread.class::isInstance).findFirst().orElseThrow();
		Map<Object, Object> cameFrom = new HashMap<>();
		Deque<Object> next = new ArrayDeque<>(List.of(start));
		while (!cameFrom.containsKey(start)) {
			Object from = next.remove();
			for (Object to : this.ways.getOrDefault(from, Set.of())) {
				if (knot.contains(to) && cameFrom.putIfAbsent(to, from) == null) {
					next.add(to);
				}
			}
		}
		Deque<ThreadWait> cycle = new ArrayDeque<>();
		Object holder = start;
		do {
			Object key = Objects.requireNonNull(cameFrom.get(holder));
			Object waiter = Objects.requireNonNull(cameFrom.get(key));
			cycle.push(new ThreadWait((WaitingThread) waiter, (String) key, (WaitingThread) holder));
			holder = waiter;
		}
		while (!holder.equals(start));
		return List.copyOf(cycle);
	}

	private static WaitingThread actor(InstanceReport report, Entry entry) {
		return new WaitingThread(report.instance(), entry.threadId(), String.valueOf(entry.thread()));
	}

}
