/**
 * Gauges and counters of engines.
 */
@NullMarked
package io.holdfast.observation.meter;

import org.jspecify.annotations.NullMarked;
