/**
 * Optimistic transactions on an application's own keys, by WATCH. Independent of leases.
 */
@NullMarked
package io.holdfast.optimistic;

import org.jspecify.annotations.NullMarked;
