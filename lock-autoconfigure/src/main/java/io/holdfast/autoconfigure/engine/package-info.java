/**
 * Beans around engines, which connect them with the application, start, examine and stop
 * them.
 */
@NullMarked
package io.holdfast.autoconfigure.engine;

import org.jspecify.annotations.NullMarked;
