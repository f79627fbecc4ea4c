/**
 * Annotations that run a method under a lock or with permits.
 */
@NullMarked
package io.holdfast.annotation;

import org.jspecify.annotations.NullMarked;
