/**
 * Connections of Lettuce: the calls of scripts, and the subscriptions for grant
 * notifications, which come by Pub/Sub.
 */
@NullMarked
package io.holdfast.redis.driver;

import org.jspecify.annotations.NullMarked;
