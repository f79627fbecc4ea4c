/**
 * Grant notifications, which come by Pub/Sub.
 */
@NullMarked
package io.holdfast.redis.notify;

import org.jspecify.annotations.NullMarked;
