/**
 * Engine of leases on top of a {@link io.holdfast.engine.store.LeaseStore}: queues,
 * grants, renewals, hand-overs and losses. {@code ResourceQueue} has the core algorithm.
 */
@NullMarked
package io.holdfast.engine;

import org.jspecify.annotations.NullMarked;
