package io.holdfast.benchmark;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * What all contenders of a row have to do, one after the other.
 */
interface Workload {

	/** What the names of those begin with that only run when asked for. */
	String CURVE = "curve-";

	String name();

	/** What it is, in a sentence. */
	String description();

	List<ContenderType> contenders();

	/** Whose {@link #mainFigure()} those of all are divided by. */
	List<ContenderType> references();

	String mainFigure();

	/**
	 * Whether the contenders reach Redis over the slow network.
	 * @return {@code false} if they are as near as they can be
	 */
	default boolean isDistant() {
		return false;
	}

	/**
	 * Have a contender do it, or what is like it, before it is measured.
	 * @param length for how long
	 */
	default void warmUp(ContenderType contender, Duration length, Workers workers, RedisMonitor redis) {
		measure(contender, length, workers, redis);
	}

	/**
	 * Have a contender do it.
	 * @param length how long to measure, where that can be chosen
	 * @return what was measured, by names that tell the unit
	 * @throws IllegalStateException if the contender failed, or let in more than it may
	 */
	Map<String, Double> measure(ContenderType contender, Duration length, Workers workers, RedisMonitor redis);

}
