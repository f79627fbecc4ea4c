/**
 * Applies the annotations: from a method's declaration to requests around its invocation.
 */
@NullMarked
package io.holdfast.aop;

import org.jspecify.annotations.NullMarked;
