/**
 * What tests run on: a Redis for each test, an application that uses it, faults between
 * them, and child processes.
 */
@NullMarked
package io.holdfast.testing;

import org.jspecify.annotations.NullMarked;
