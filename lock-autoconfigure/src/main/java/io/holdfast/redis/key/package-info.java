/** Names of the keys in Redis, and the options of the store. */
@NullMarked
package io.holdfast.redis.key;

import org.jspecify.annotations.NullMarked;
