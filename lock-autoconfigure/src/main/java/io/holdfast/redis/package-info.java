/**
 * The {@link io.holdfast.engine.LeaseStore} in Redis: Lua scripts, keys and wake-ups; and
 * transactions on an application's own keys.
 */
@NullMarked
package io.holdfast.redis;

import org.jspecify.annotations.NullMarked;
