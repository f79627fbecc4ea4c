/**
 * Blocking callers, and views in the style of {@code java.util.concurrent}.
 */
@NullMarked
package io.holdfast.engine.view;

import org.jspecify.annotations.NullMarked;
