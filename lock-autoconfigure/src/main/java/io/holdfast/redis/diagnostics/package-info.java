/**
 * Diagnostics of the server: its settings, replicas and rights.
 */
@NullMarked
package io.holdfast.redis.diagnostics;

import org.jspecify.annotations.NullMarked;
