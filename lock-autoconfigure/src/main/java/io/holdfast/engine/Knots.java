package io.holdfast.engine;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Sets of nodes of a graph that can all be reached from each other, in a time that grows
 * with the graph's size only.
 *
 * <p>
 * The algorithm of S. R. Kosaraju and M. Sharir, <em>A Strong-Connectivity Algorithm and
 * Its Applications in Data Flow Analysis</em>, Computers and Mathematics with
 * Applications 7 (1981); without recursion, since a path may be long.
 *
 * @param <N> the type of the nodes
 */
final class Knots<N> {

	private final Map<N, Set<N>> graph;

	private final Map<N, Set<N>> reversed = new HashMap<>();

	private Knots(Map<N, Set<N>> graph) {
		this.graph = graph;
		graph.forEach((from, all) -> all
			.forEach((to) -> this.reversed.computeIfAbsent(to, (k) -> new LinkedHashSet<>()).add(from)));
	}

	/**
	 * Find the knots.
	 * @param graph for each node that leads to others, these
	 * @return sets of two nodes at least, none of which are in two sets
	 */
	static <N> List<Set<N>> of(Map<N, Set<N>> graph) {
		return new Knots<>(graph).find();
	}

	private List<Set<N>> find() {
		Deque<N> finished = new ArrayDeque<>();
		Set<N> seen = new HashSet<>();
		this.graph.keySet().forEach((node) -> walk(this.graph, node, seen).forEach(finished::push));
		List<Set<N>> knots = new ArrayList<>();
		Set<N> known = new HashSet<>();
		for (N node : finished) {
			List<N> knot = walk(this.reversed, node, known);
			if (knot.size() > 1) {
				knots.add(new HashSet<>(knot));
			}
		}
		return knots;
	}

	/** Walk to all that was not seen before; each node comes after those it leads to. */
	private static <N> List<N> walk(Map<N, Set<N>> graph, N start, Set<N> seen) {
		List<N> finished = new ArrayList<>();
		Deque<N> path = new ArrayDeque<>();
		Deque<Iterator<N>> ways = new ArrayDeque<>();
		N next = seen.add(start) ? start : null;
		while (next != null || !path.isEmpty()) {
			if (next != null) {
				path.push(next);
				ways.push(graph.getOrDefault(next, Set.of()).iterator());
			}
			Iterator<N> here = ways.element();
			next = null;
			while (next == null && here.hasNext()) {
				N node = here.next();
				next = seen.add(node) ? node : null;
			}
			if (next == null) {
				ways.pop();
				finished.add(path.pop());
			}
		}
		return finished;
	}

}
