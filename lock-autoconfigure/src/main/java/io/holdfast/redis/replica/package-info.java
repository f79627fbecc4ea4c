/**
 * Confirmations by replicas.
 */
@NullMarked
package io.holdfast.redis.replica;

import org.jspecify.annotations.NullMarked;
