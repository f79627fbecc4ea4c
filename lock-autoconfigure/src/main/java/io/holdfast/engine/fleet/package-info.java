/**
 * What all instances hold and wait for, and the deadlocks among them.
 */
@NullMarked
package io.holdfast.engine.fleet;

import org.jspecify.annotations.NullMarked;
