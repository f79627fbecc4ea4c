/**
 * Utilities for all packages: asynchronous calls, threads, and text in messages.
 */
@NullMarked
package io.holdfast.async;

import org.jspecify.annotations.NullMarked;
