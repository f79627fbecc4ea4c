/**
 * Common to all packages: asynchronous calls, threads, and text for messages.
 */
@NullMarked
package io.holdfast.async;

import org.jspecify.annotations.NullMarked;
