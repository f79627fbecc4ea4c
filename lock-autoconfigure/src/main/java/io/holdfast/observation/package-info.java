/**
 * Observations and meters of engines and annotated methods.
 */
@NullMarked
package io.holdfast.observation;

import org.jspecify.annotations.NullMarked;
