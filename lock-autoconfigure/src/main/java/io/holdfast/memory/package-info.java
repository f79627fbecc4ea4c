/**
 * The {@link io.holdfast.engine.store.LeaseStore} inside this JVM, with the behaviour of
 * the one in Redis.
 */
@NullMarked
package io.holdfast.memory;

import org.jspecify.annotations.NullMarked;
