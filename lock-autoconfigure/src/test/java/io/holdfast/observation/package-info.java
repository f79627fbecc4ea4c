/**
 * Observations and meters in registries, scrapes and traces.
 */
@NullMarked
package io.holdfast.observation;

import org.jspecify.annotations.NullMarked;
