/**
 * What must hold whatever happens to Redis, to the way to it, to threads and to the
 * application: tests of the exclusive lock through its auto-configuration.
 */
@NullMarked
package io.holdfast.faults;

import org.jspecify.annotations.NullMarked;
