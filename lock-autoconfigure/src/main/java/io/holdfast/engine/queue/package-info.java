/**
 * Waiting: which request of this instance is next, which one contends in the store, which
 * one holds.
 */
@NullMarked
package io.holdfast.engine.queue;

import org.jspecify.annotations.NullMarked;
