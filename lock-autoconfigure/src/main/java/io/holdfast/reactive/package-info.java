/**
 * Locks and semaphores for reactive chains, on Reactor.
 */
@NullMarked
package io.holdfast.reactive;

import org.jspecify.annotations.NullMarked;
