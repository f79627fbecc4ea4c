/**
 * Connections of Lettuce, and the sending of scripts over them.
 */
@NullMarked
package io.holdfast.redis.driver;

import org.jspecify.annotations.NullMarked;
