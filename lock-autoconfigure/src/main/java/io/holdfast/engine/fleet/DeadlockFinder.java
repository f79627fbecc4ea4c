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
 * Finds cycles of threads that wait for each other's locks. A waiting thread waits for
 * all holders of its lock. Asynchronous requests belong to no thread and are ignored.
 *
 * <p>
 * On wait-for graphs: R. C. Holt, <em>Some Deadlock Properties of Computer Systems</em>,
 * ACM Computing Surveys 4 (1972).
 */
final class DeadlockFinder {

	/** Maximum number of deadlocks to find. */
	private static final int MOST = 100;

	/** Edges from threads to the keys they wait for, and from keys to their holders. */
	private final Map<Object, Set<Object>> edges = new LinkedHashMap<>();

	/** Reversed edges. */
	private final Map<Object, Set<Object>> reversed = new HashMap<>();

	/**
	 * Threads with their names, which may change at any time and are therefore not part
	 * of the nodes.
	 */
	private final Map<Object, Actor> actors = new HashMap<>();

	private DeadlockFinder(FleetReport report) {
		report.waits().filter(DeadlockFinder::counts).forEach((wait) -> addEdge(thread(wait), wait.resource().key()));
		report.holds().filter(DeadlockFinder::counts).forEach((hold) -> addEdge(hold.resource().key(), thread(hold)));
	}

	private static boolean counts(Entry entry) {
		return entry.threadId() != 0 && entry.resource().kind() != Kind.SEMAPHORE;
	}

	private ThreadNode thread(Entry entry) {
		ThreadNode thread = new ThreadNode(entry.instance(), entry.threadId());
		this.actors.put(thread, new Actor(entry.instance(), String.valueOf(entry.thread())));
		return thread;
	}

	private void addEdge(Object from, Object to) {
		this.edges.computeIfAbsent(from, (k) -> new LinkedHashSet<>()).add(to);
		this.reversed.computeIfAbsent(to, (k) -> new LinkedHashSet<>()).add(from);
	}

	/**
	 * Find cycles.
	 * @param report the report of all instances
	 * @return disjoint cycles: no two share a thread or a key
	 */
	static List<Deadlock> find(FleetReport report) {
		return new DeadlockFinder(report).find();
	}

	private List<Deadlock> find() {
		List<Deadlock> cycles = new ArrayList<>();
		remove(this.reversed.keySet().stream().filter((node) -> !this.edges.containsKey(node)).toList());
		while (!this.edges.isEmpty() && cycles.size() < MOST) {
			List<Object> cycle = shortestOf(threadOfCycle());
			cycles.add(deadlock(cycle));
			remove(cycle);
		}
		return cycles;
	}

	/** Remove nodes, and then all nodes without remaining edges. */
	private void remove(Collection<?> nodes) {
		Deque<Object> next = new ArrayDeque<>(nodes);
		while (!next.isEmpty()) {
			Object node = next.remove();
			this.edges.remove(node);
			Set<Object> predecessors = this.reversed.remove(node);
			if (predecessors != null) {
				for (Object from : predecessors) {
					Set<Object> remaining = this.edges.get(from);
					if (remaining != null && remaining.remove(node) && remaining.isEmpty()) {
						next.add(from);
					}
				}
			}
		}
	}

	/**
	 * Return a thread of a cycle: follow edges, of which each remaining node has at least
	 * one, until a thread repeats.
	 */
	private Object threadOfCycle() {
		Set<Object> seen = new HashSet<>();
		Object node = this.edges.keySet().iterator().next();
		while (!(node instanceof ThreadNode) || seen.add(node)) {
			node = Objects.requireNonNull(this.edges.get(node)).iterator().next();
		}
		return node;
	}

	/**
	 * Return the shortest cycle through a thread, by a breadth-first search: the thread,
	 * a key, the next thread and so on.
	 */
	private List<Object> shortestOf(Object start) {
		Map<Object, Object> cameFrom = new HashMap<>();
		Deque<Object> next = new ArrayDeque<>(List.of(start));
		while (!cameFrom.containsKey(start)) {
			Object from = next.remove();
			for (Object to : Objects.requireNonNull(this.edges.get(from))) {
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
