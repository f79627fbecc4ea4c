/**
 * Gauges and counters of what engines do.
 */
@NullMarked
package io.holdfast.observation.meter;

import org.jspecify.annotations.NullMarked;
