/**
 * Observations of annotated calls.
 */
@NullMarked
package io.holdfast.aop.observe;

import org.jspecify.annotations.NullMarked;
