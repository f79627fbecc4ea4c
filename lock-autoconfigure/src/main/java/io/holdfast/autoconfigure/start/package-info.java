/**
 * Checks at the start of every context, even of a context without Holdfast.
 */
@NullMarked
package io.holdfast.autoconfigure.start;

import org.jspecify.annotations.NullMarked;
