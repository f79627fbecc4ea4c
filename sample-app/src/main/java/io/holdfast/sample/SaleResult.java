package io.holdfast.sample;

import java.util.Map;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.holdfast.sample.Outcome.Waits;
import org.jspecify.annotations.Nullable;

/**
 * The same sale, held without and with the lock, or one of them.
 *
 * @param sku what was sold
 * @param stock how many pieces there were, each time
 * @param buyers how many wanted one, each time
 * @param withoutLock how it went without the lock, {@code null} if it was not held so
 * @param withLock how it went with the lock, {@code null} if it was not held so
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record SaleResult(String sku, int stock, int buyers, @Nullable Round withoutLock, @Nullable Round withLock) {

	/**
	 * The result of one round.
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
	record Round(int sold, int oversold, int failed, long millis, @Nullable Waits lockWaits,
			Map<String, Integer> instances) {

		static Round of(int stock, boolean locked, Outcome purchases) {
			int sold = purchases.succeeded();
			return new Round(sold, Math.max(0, sold - stock), purchases.failed(), purchases.millis(),
					locked ? purchases.waits() : null, purchases.instances());
		}

	}

}
