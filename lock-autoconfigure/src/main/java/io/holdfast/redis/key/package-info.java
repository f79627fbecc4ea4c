/**
 * The keys in Redis: their names, and what is configured for them.
 */
@NullMarked
package io.holdfast.redis.key;

import org.jspecify.annotations.NullMarked;
