/**
 * What a method's caller gets when a lease was not acquired.
 */
@NullMarked
package io.holdfast.aop.outcome;

import org.jspecify.annotations.NullMarked;
