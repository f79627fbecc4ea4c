/**
 * The {@link io.holdfast.engine.LeaseStore} in Redis: Lua scripts, keys and wake-ups.
 */
@NullMarked
package io.holdfast.redis;

import org.jspecify.annotations.NullMarked;
