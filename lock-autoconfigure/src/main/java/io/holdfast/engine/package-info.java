/**
 * How a lease is queued for, granted, kept, passed on and lost, over any
 * {@link io.holdfast.engine.store.LeaseStore}.
 */
@NullMarked
package io.holdfast.engine;

import org.jspecify.annotations.NullMarked;
