/**
 * Invocations under leases: of synchronous, asynchronous and reactive methods, and of
 * methods in transactions.
 */
@NullMarked
package io.holdfast.aop.invoke;

import org.jspecify.annotations.NullMarked;
