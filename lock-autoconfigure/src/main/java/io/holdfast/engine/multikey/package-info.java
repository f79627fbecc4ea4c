/**
 * Locks of several keys at once.
 */
@NullMarked
package io.holdfast.engine.multikey;

import org.jspecify.annotations.NullMarked;
