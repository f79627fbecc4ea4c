/**
 * What a caller wants, with all defaults filled in, and what tells a caller that it
 * cannot be had.
 */
@NullMarked
package io.holdfast.engine.request;

import org.jspecify.annotations.NullMarked;
