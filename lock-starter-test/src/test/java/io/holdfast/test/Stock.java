package io.holdfast.test;

/**
 * Stock of a shop's warehouse.
 */
interface Stock {

	boolean take(String sku, int count);

}
