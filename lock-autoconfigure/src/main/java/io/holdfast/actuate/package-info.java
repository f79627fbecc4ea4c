/**
 * Actuator endpoints and health indicator.
 */
@NullMarked
package io.holdfast.actuate;

import org.jspecify.annotations.NullMarked;
