/**
 * Actuator endpoints and health.
 */
@NullMarked
package io.holdfast.actuate;

import org.jspecify.annotations.NullMarked;
