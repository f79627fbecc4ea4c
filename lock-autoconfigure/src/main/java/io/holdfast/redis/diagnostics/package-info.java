/**
 * Diagnostics of the server: its version, settings and rights.
 */
@NullMarked
package io.holdfast.redis.diagnostics;

import org.jspecify.annotations.NullMarked;
