/**
 * What all packages have in common: asynchronous calls, threads, and text for messages.
 */
@NullMarked
package io.holdfast.async;

import org.jspecify.annotations.NullMarked;
