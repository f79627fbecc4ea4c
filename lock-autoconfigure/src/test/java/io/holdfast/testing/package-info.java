/**
 * What tests run on: a Redis for each test, faults between it and its clients, and child
 * processes.
 */
@NullMarked
package io.holdfast.testing;

import org.jspecify.annotations.NullMarked;
