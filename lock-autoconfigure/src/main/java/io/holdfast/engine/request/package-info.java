/**
 * The request of a caller, with all defaults filled in, and the exceptions for a request
 * in vain.
 */
@NullMarked
package io.holdfast.engine.request;

import org.jspecify.annotations.NullMarked;
