package io.holdfast.engine.fleet;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

import io.holdfast.engine.InstanceReport.Entry;
import io.holdfast.engine.fleet.Deadlock.Actor;
import io.holdfast.engine.fleet.Deadlock.ThreadWait;
import io.holdfast.engine.store.Resource.Kind;

/**
 * Finds threads that wait for each other's locks in a circle. A thread that waits for a
 * lock waits for all its holders; a request of no thread waits for no other.
 *
 * <p>
 * The graph of waits: R. C. Holt, <em>Some Deadlock Properties of Computer Systems</em>,
 * ACM Computing Surveys 4 (1972).
 */
final class DeadlockFinder {

	/** Where there are so many deadlocks, more examples do not help. */
	private static final int MOST = 100;

	/** From threads to the keys that they wait for, and from these to their holders. */
	private final Map<Object, Set<Object>> ways = new LinkedHashMap<>();

	/** The same from the other end. */
	private final Map<Object, Set<Object>> reversed = new HashMap<>();

	/**
	 * The threads with their names, which may change at any time and are not compared.
	 */
	private final Map<Object, Actor> actors = new HashMap<>();

	private DeadlockFinder(FleetReport report) {
		report.waits().filter(DeadlockFinder::counts).forEach((wait) -> way(thread(wait), wait.resource().key()));
		report.holds().filter(DeadlockFinder::counts).forEach((hold) -> way(hold.resource().key(), thread(hold)));
	}

	private static boolean counts(Entry entry) {
		return entry.threadId() != 0 && entry.resource().kind() != Kind.SEMAPHORE;
	}

	private ThreadNode thread(Entry entry) {
		ThreadNode thread = new ThreadNode(entry.instance(), entry.threadId());
		this.actors.put(thread, new Actor(entry.instance(), String.valueOf(entry.thread())));
		return thread;
	}

	private void way(Object from, Object to) {
		this.ways.computeIfAbsent(from, (k) -> new LinkedHashSet<>()).add(to);
		this.reversed.computeIfAbsent(to, (k) -> new LinkedHashSet<>()).add(from);
	}

	/**
	 * Find cycles.
	 * @param report of all instances
	 * @return cycles, of which no two have a thread or a key in common
	 */
	static List<Deadlock> find(FleetReport report) {
		return new DeadlockFinder(report).find();
	}

	private List<Deadlock> find() {
		List<Deadlock> cycles = new ArrayList<>();
		remove(this.reversed.keySet().stream().filter((node) -> !this.ways.containsKey(node)).toList());
		while (!this.ways.isEmpty() && cycles.size() < MOST) {
			List<Object> cycle = shortestOf(threadOfCycle());
			cycles.add(deadlock(cycle));
			remove(cycle);
		}
		return cycles;
	}

	/** Remove nodes, and with them the nodes that lead nowhere else. */
	private void remove(Collection<?> nodes) {
		Deque<Object> next = new ArrayDeque<>(nodes);
		while (!next.isEmpty()) {
			Object node = next.remove();
			this.ways.remove(node);
			Set<Object> before = this.reversed.remove(node);
			if (before != null) {
				for (Object from : before) {
					Set<Object> left = this.ways.get(from);
					if (left != null && left.remove(node) && left.isEmpty()) {
						next.add(from);
					}
				}
			}
		}
	}

	/**
	 * Follow the ways, of which each node that is left has one, until one comes again.
	 */
	private Object threadOfCycle() {
		Set<Object> seen = new HashSet<>();
		Object node = this.ways.keySet().iterator().next();
		while (!(node instanceof ThreadNode) || seen.add(node)) {
			node = Objects.requireNonNull(this.ways.get(node)).iterator().next();
		}
		return node;
	}

	/**
	 * Return the shortest way from a thread back to itself, breadth first: that thread, a
	 * key, another thread and so on to the last key.
	 */
	private List<Object> shortestOf(Object start) {
		Map<Object, Object> cameFrom = new HashMap<>();
		Deque<Object> next = new ArrayDeque<>(List.of(start));
		while (!cameFrom.containsKey(start)) {
			Object from = next.remove();
			for (Object to : Objects.requireNonNull(this.ways.get(from))) {
				if (cameFrom.putIfAbsent(to, from) == null) {
					next.add(to);
				}
			}
		}
		Deque<Object> cycle = new ArrayDeque<>();
		Object node = start;
		do {
			node = Objects.requireNonNull(cameFrom.get(node));
			cycle.push(node);
		}
		while (!node.equals(start));
		return List.copyOf(cycle);
	}

	private Deadlock deadlock(List<Object> cycle) {
		List<ThreadWait> waits = new ArrayList<>();
		for (int i = 0; i < cycle.size(); i += 2) {
			Actor waiter = actor(cycle.get(i));
			waits.add(new ThreadWait(waiter.instance(), waiter.thread(), (String) cycle.get(i + 1),
					actor(cycle.get((i + 2) % cycle.size()))));
		}
		return new Deadlock(waits);
	}

	private Actor actor(Object thread) {
		return Objects.requireNonNull(this.actors.get(thread));
	}

	private record ThreadNode(String instance, long threadId) {
	}

}
