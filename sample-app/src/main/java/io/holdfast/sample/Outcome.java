package io.holdfast.sample;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Outcome of a round of calls by the {@link Fleet}.
 *
 * @param succeeded the number of successful calls
 * @param failed the number of failed calls, for example without the lock or permit within
 * the wait time. The instances log the reasons
 * @param millis the duration of the round in milliseconds
 * @param waits the waits of all calls that did not fail
 * @param instances the number of calls of each instance, by its port
 */
record Outcome(int succeeded, int failed, long millis, Waits waits, Map<String, Integer> instances) {

	static Outcome of(List<Part> parts, long millis) {
		Map<String, Integer> instances = new TreeMap<>();
		parts.forEach((part) -> instances.merge(part.instance(), part.calls(), Integer::sum));
		return new Outcome(parts.stream().mapToInt(Part::succeeded).sum(), parts.stream().mapToInt(Part::failed).sum(),
				millis, Waits.of(parts), instances);
	}

	/**
	 * Wait times of calls.
	 *
	 * @param count the number of waits
	 * @param p50Millis the median in milliseconds
	 * @param maxMillis the maximum in milliseconds
	 */
	record Waits(int count, long p50Millis, long maxMillis) {

		static Waits of(List<Part> parts) {
			long[] millis = parts.stream().flatMapToLong((part) -> Arrays.stream(part.waitMillis())).sorted().toArray();
			int count = millis.length;
			return (count == 0) ? new Waits(0, 0, 0) : new Waits(count, millis[(count - 1) / 2], millis[count - 1]);
		}

	}

	/**
	 * Report of an instance on its share of a round.
	 *
	 * @param instance the port of the instance
	 * @param calls the number of its calls
	 * @param succeeded the number of successful calls
	 * @param failed the number of failed calls
	 * @param waitMillis the wait of each call that did not fail, in milliseconds
	 */
	record Part(String instance, int calls, int succeeded, int failed, long[] waitMillis) {
	}

}
