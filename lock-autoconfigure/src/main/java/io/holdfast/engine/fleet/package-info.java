/**
 * The holds and waits of all instances, and the deadlocks among them.
 */
@NullMarked
package io.holdfast.engine.fleet;

import org.jspecify.annotations.NullMarked;
