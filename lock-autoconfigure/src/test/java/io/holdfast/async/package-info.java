/**
 * Asynchronous use from end to end, on a real Redis.
 */
package io.holdfast.async;
