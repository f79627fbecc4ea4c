/**
 * Applies the annotations: from a method's declaration to a lease around its invocation.
 * At the start {@link io.holdfast.aop.LeaseBeanPostProcessor} puts the advice into beans
 * and has their declarations checked. Extensions use
 * {@link io.holdfast.aop.MethodObserver}.
 */
@NullMarked
package io.holdfast.aop;

import org.jspecify.annotations.NullMarked;
