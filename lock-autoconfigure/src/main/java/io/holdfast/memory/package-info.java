/**
 * {@link io.holdfast.engine.store.LeaseStore} inside the JVM, with the behaviour of the
 * store in Redis.
 */
@NullMarked
package io.holdfast.memory;

import org.jspecify.annotations.NullMarked;
