/**
 * The holds and waits of all instances, and the register of instances.
 */
@NullMarked
package io.holdfast.redis.fleet;

import org.jspecify.annotations.NullMarked;
