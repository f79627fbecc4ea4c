/**
 * Annotated methods: their results, attributes, and what is wrong with them.
 */
@NullMarked
package io.holdfast.aop.method;

import org.jspecify.annotations.NullMarked;
