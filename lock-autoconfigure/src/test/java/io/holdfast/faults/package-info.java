/**
 * Tests of promises under faults of Redis, of the connection, of threads and of the
 * application, through the auto-configuration.
 */
@NullMarked
package io.holdfast.faults;

import org.jspecify.annotations.NullMarked;
