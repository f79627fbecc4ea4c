package io.holdfast.test;

/**
 * What a shop has in its warehouse.
 */
interface Stock {

	boolean take(String sku, int count);

}
