/**
 * Support for tests: a Redis for each test, an application that uses it, faults between
 * both, and child processes.
 */
@NullMarked
package io.holdfast.testing;

import org.jspecify.annotations.NullMarked;
