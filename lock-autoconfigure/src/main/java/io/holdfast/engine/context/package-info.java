/**
 * The surroundings that all parts of an engine share: store, clock, threads, settings,
 * observers.
 */
@NullMarked
package io.holdfast.engine.context;

import org.jspecify.annotations.NullMarked;
