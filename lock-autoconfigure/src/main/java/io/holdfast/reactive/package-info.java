/**
 * Locks and semaphores for reactive chains of Reactor.
 */
@NullMarked
package io.holdfast.reactive;

import org.jspecify.annotations.NullMarked;
