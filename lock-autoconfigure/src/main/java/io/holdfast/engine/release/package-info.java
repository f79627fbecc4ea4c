/**
 * The ends of tokens in the store.
 */
@NullMarked
package io.holdfast.engine.release;

import org.jspecify.annotations.NullMarked;
