/**
 * Annotations that put a method under a lock.
 */
@NullMarked
package io.holdfast.annotation;

import org.jspecify.annotations.NullMarked;
