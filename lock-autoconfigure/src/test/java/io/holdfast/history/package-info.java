/**
 * Events of locks and permits, in one JVM or in several, in virtual time or in real time;
 * and the judges of these events.
 */
@NullMarked
package io.holdfast.history;

import org.jspecify.annotations.NullMarked;
