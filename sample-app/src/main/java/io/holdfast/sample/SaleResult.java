package io.holdfast.sample;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import com.fasterxml.jackson.annotation.JsonInclude;
import org.jspecify.annotations.Nullable;

/**
 * The same sale, held without and with the lock.
 *
 * @param sku what was sold
 * @param stock how many pieces there were, each time
 * @param buyers how many wanted one, each time
 * @param withoutLock how it went without the lock
 * @param withLock how it went with the lock
 */
record SaleResult(String sku, int stock, int buyers, Round withoutLock, Round withLock) {

	/**
	 * How one round went.
	 *
	 * @param sold how many buyers got a piece
	 * @param oversold how many of those pieces did not exist
	 * @param failed how many purchases failed, such as by not getting the lock within its
	 * wait time; the instances log why
	 * @param millis how long the round took
	 * @param lockWaits how long the buyers waited for the lock; only with the lock
	 * @param instances how many buyers each instance served, by its port
	 */
	@JsonInclude(JsonInclude.Include.NON_NULL)
	record Round(int sold, int oversold, int failed, long millis, @Nullable LockWaits lockWaits,
			Map<String, Integer> instances) {

		static Round of(int stock, boolean locked, long millis, List<Served> parts) {
			int sold = parts.stream().mapToInt(Served::sold).sum();
			int failed = parts.stream().mapToInt(Served::failed).sum();
			Map<String, Integer> instances = new TreeMap<>();
			parts.forEach((part) -> instances.merge(part.instance(), part.buyers(), Integer::sum));
			return new Round(sold, Math.max(0, sold - stock), failed, millis, locked ? LockWaits.of(parts) : null,
					instances);
		}

	}

	/**
	 * Waits for the lock, of those who got it.
	 *
	 * @param count how many waits
	 * @param p50Millis half of them were not longer than this
	 * @param maxMillis the longest
	 */
	record LockWaits(int count, long p50Millis, long maxMillis) {

		static LockWaits of(List<Served> parts) {
			long[] millis = parts.stream().flatMapToLong((part) -> Arrays.stream(part.waitMillis())).sorted().toArray();
			int count = millis.length;
			return (count == 0) ? new LockWaits(0, 0, 0)
					: new LockWaits(count, millis[(count - 1) / 2], millis[count - 1]);
		}

	}

	/**
	 * What one instance reports of its share of a round.
	 *
	 * @param instance the port of the instance
	 * @param buyers how many buyers it served
	 * @param sold how many of them got a piece
	 * @param failed how many of their purchases failed
	 * @param waitMillis how long each of the others waited before the purchase began
	 */
	record Served(String instance, int buyers, int sold, int failed, long[] waitMillis) {
	}

}
