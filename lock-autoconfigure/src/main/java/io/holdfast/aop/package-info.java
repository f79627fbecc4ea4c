/**
 * Application of the annotations, from the declaration on a method to a lease around its
 * invocation. {@link io.holdfast.aop.LeaseBeanPostProcessor} adds the advice to beans and
 * checks their declarations. Extensions may implement
 * {@link io.holdfast.aop.MethodObserver}.
 */
@NullMarked
package io.holdfast.aop;

import org.jspecify.annotations.NullMarked;
