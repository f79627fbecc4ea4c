/**
 * Console for operators: a page of Actuator.
 */
@NullMarked
package io.holdfast.autoconfigure.console;

import org.jspecify.annotations.NullMarked;
