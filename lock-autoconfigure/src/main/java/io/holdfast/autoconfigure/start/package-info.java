/**
 * Checks of every context at its start, also of one that Holdfast is no part of.
 */
@NullMarked
package io.holdfast.autoconfigure.start;

import org.jspecify.annotations.NullMarked;
