/**
 * The engine: queues, grants, renewals, hand-overs and losses of leases, over any
 * {@link io.holdfast.engine.store.LeaseStore}. {@code ResourceQueue} is the algorithm.
 */
@NullMarked
package io.holdfast.engine;

import org.jspecify.annotations.NullMarked;
