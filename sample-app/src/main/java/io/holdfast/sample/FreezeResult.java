package io.holdfast.sample;

import org.jspecify.annotations.Nullable;

/**
 * Result of a frozen holder of the lock.
 *
 * @param instance the port of the holder's instance
 * @param leaseSeconds the lease time in seconds
 * @param others the outcome of the other writers
 * @param noticed whether the holder's lease was not held any more after the freeze
 * @param refusal the reason why the holder's write was refused, or {@code null} without a
 * refusal
 */
record FreezeResult(String instance, long leaseSeconds, Outcome others, boolean noticed, @Nullable String refusal) {
}
