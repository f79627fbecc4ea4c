/**
 * Observations of what engines and annotated methods do.
 */
@NullMarked
package io.holdfast.observation;

import org.jspecify.annotations.NullMarked;
