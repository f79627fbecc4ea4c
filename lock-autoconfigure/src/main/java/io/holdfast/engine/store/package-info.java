/**
 * SPI of stores: atomic commands on resources, with fencing tokens.
 */
@NullMarked
package io.holdfast.engine.store;

import org.jspecify.annotations.NullMarked;
