package io.holdfast.sample;

import java.time.Duration;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Properties of the shop.
 *
 * @param thinkTime the time between a buyer's read and write of the stock
 * @param editingTime the maximum time of editing the settings, after which their lock is
 * no longer renewed
 * @param editingLease the lease time of the settings' lock without renewal: the longest
 * wait of other editors if the instance of an editor dies
 * @param loadTime the duration of a product's load from the database
 * @param quoteTime the duration of a call to the carrier
 * @param quoteLimit the maximum number of simultaneous calls to the carrier by all
 * instances
 */
@ConfigurationProperties("shop")
record ShopProperties(@DefaultValue("1ms") Duration thinkTime, @DefaultValue("2m") Duration editingTime,
		@DefaultValue("10s") Duration editingLease, @DefaultValue("100ms") Duration loadTime,
		@DefaultValue("50ms") Duration quoteTime, @DefaultValue("3") int quoteLimit) {

}
