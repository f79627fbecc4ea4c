/**
 * What asynchronous calls have in common.
 */
@NullMarked
package io.holdfast.async;

import org.jspecify.annotations.NullMarked;
