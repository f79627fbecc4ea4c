/**
 * Optimistic transactions on an application's own keys, by Redis' WATCH. They have
 * nothing to do with leases.
 */
@NullMarked
package io.holdfast.optimistic;

import org.jspecify.annotations.NullMarked;
