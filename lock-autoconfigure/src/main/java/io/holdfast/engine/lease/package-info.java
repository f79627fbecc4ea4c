/**
 * Holds: what the store has granted, the leases that are open on it, and how it is
 * renewed and lost.
 */
@NullMarked
package io.holdfast.engine.lease;

import org.jspecify.annotations.NullMarked;
