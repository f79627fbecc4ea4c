package io.holdfast.sample;

import java.time.Duration;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties of the shop.
 *
 * @param thinkTime how long a buyer thinks between reading the stock and writing it back
 * @param editingTime how long the settings may be edited in one go; then the lock is no
 * longer renewed
 * @param editingLease how long the lock of the settings lasts when it is not renewed:
 * others wait so long at most if the instance of an editor dies
 * @param loadTime how long the database takes to load a product
 * @param quoteTime how long the carrier takes for a quote
 * @param quoteLimit how many calls the carrier gets at a time from all instances
 */
@ConfigurationProperties("shop")
record ShopProperties(@DefaultValue("1ms") Duration thinkTime, @DefaultValue("2m") Duration editingTime,
		@DefaultValue("10s") Duration editingLease, @DefaultValue("100ms") Duration loadTime,
		@DefaultValue("50ms") Duration quoteTime, @DefaultValue("3") int quoteLimit) {

}
