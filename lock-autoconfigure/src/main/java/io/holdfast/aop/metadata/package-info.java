/**
 * The annotations as they were declared: read, checked, and made operations of.
 */
@NullMarked
package io.holdfast.aop.metadata;

import org.jspecify.annotations.NullMarked;
