/**
 * Small shop, run by several instances: a sale that must not sell more than its stock, a
 * cache that one instance fills for all, a carrier with a limited number of simultaneous
 * calls, and settings that only one person edits at a time.
 */
@NullMarked
package io.holdfast.sample;

import org.jspecify.annotations.NullMarked;
