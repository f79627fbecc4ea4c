/**
 * The keys in Redis: their names and settings.
 */
@NullMarked
package io.holdfast.redis.key;

import org.jspecify.annotations.NullMarked;
