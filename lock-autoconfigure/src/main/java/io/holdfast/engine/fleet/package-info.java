/**
 * Holds and waits of all instances, and deadlocks among them.
 */
@NullMarked
package io.holdfast.engine.fleet;

import org.jspecify.annotations.NullMarked;
