/**
 * Hints for native images and for processing ahead of time.
 */
@NullMarked
package io.holdfast.aop.aot;

import org.jspecify.annotations.NullMarked;
