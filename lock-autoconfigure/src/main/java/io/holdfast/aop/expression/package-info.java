/**
 * Keys and conditions: SpEL expressions over the arguments of a call.
 */
@NullMarked
package io.holdfast.aop.expression;

import org.jspecify.annotations.NullMarked;
