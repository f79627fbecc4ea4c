/**
 * What all instances hold and wait for, and the register of instances.
 */
@NullMarked
package io.holdfast.redis.fleet;

import org.jspecify.annotations.NullMarked;
