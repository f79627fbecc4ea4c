/**
 * Observers of an engine.
 */
@NullMarked
package io.holdfast.engine.observe;

import org.jspecify.annotations.NullMarked;
