/**
 * The {@link io.holdfast.engine.LeaseStore} in Redis.
 */
@NullMarked
package io.holdfast.redis;

import org.jspecify.annotations.NullMarked;
