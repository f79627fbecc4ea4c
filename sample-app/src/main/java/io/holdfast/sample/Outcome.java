package io.holdfast.sample;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The outcome of a round of calls that the {@link Fleet} made.
 *
 * @param succeeded how many calls got what they were made for
 * @param failed how many failed, such as by not getting the lock or permit within its
 * wait time; the instances log why
 * @param millis how long the round took
 * @param waits how long the calls that did not fail waited until they were served
 * @param instances how many calls each instance made, by its port
 */
record Outcome(int succeeded, int failed, long millis, Waits waits, Map<String, Integer> instances) {

	static Outcome of(List<Part> parts, long millis) {
		Map<String, Integer> instances = new TreeMap<>();
		parts.forEach((part) -> instances.merge(part.instance(), part.calls(), Integer::sum));
		return new Outcome(parts.stream().mapToInt(Part::succeeded).sum(), parts.stream().mapToInt(Part::failed).sum(),
				millis, Waits.of(parts), instances);
	}

	/**
	 * The times that calls waited.
	 *
	 * @param count how many waits
	 * @param p50Millis half of them were not longer than this
	 * @param maxMillis the longest
	 */
	record Waits(int count, long p50Millis, long maxMillis) {

		static Waits of(List<Part> parts) {
			long[] millis = parts.stream().flatMapToLong((part) -> Arrays.stream(part.waitMillis())).sorted().toArray();
			int count = millis.length;
			return (count == 0) ? new Waits(0, 0, 0) : new Waits(count, millis[(count - 1) / 2], millis[count - 1]);
		}

	}

	/**
	 * The report of one instance on its share of a round.
	 *
	 * @param instance the port of the instance
	 * @param calls how many calls it made
	 * @param succeeded how many of them got what they were made for
	 * @param failed how many of them failed
	 * @param waitMillis how long each of the others waited
	 */
	record Part(String instance, int calls, int succeeded, int failed, long[] waitMillis) {
	}

}
