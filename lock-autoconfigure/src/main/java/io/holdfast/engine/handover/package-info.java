/**
 * What becomes of a released hold.
 */
@NullMarked
package io.holdfast.engine.handover;

import org.jspecify.annotations.NullMarked;
