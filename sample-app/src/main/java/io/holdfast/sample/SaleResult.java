package io.holdfast.sample;

import java.util.Map;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.holdfast.sample.Outcome.Waits;
import org.jspecify.annotations.Nullable;

/**
 * Results of the same sale without and with the lock, or of one of these rounds.
 *
 * @param sku the sold SKU
 * @param stock the number of pieces in each round
 * @param buyers the number of buyers in each round
 * @param withoutLock the round without the lock, or {@code null} without such a round
 * @param withLock the round with the lock, or {@code null} without such a round
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record SaleResult(String sku, int stock, int buyers, @Nullable Round withoutLock, @Nullable Round withLock) {

	/**
	 * Result of a round.
	 *
	 * @param sold the number of buyers that got a piece
	 * @param oversold the number of sold pieces that did not exist
	 * @param failed the number of failed purchases, for example without the lock within
	 * the wait time. The instances log the reasons
	 * @param millis the duration of the round in milliseconds
	 * @param lockWaits the waits for the lock; {@code null} without the lock
	 * @param instances the number of buyers of each instance, by its port
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
