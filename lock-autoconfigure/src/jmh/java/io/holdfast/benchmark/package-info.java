/**
 * Holdfast beside others on one Redis: who is faster, and what it costs. Built and run by
 * the profile {@code benchmark} only.
 */
@NullMarked
package io.holdfast.benchmark;

import org.jspecify.annotations.NullMarked;
