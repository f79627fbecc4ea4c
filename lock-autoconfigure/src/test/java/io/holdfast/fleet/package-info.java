/**
 * Locks and semaphores of a fleet of instances: several application contexts in one JVM
 * and in several, on a real Redis, with real faults.
 */
@NullMarked
package io.holdfast.fleet;

import org.jspecify.annotations.NullMarked;
