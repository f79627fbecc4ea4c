/** Implementation of {@link io.holdfast.engine.store.LeaseStore} in Redis. */
@NullMarked
package io.holdfast.redis;

import org.jspecify.annotations.NullMarked;
