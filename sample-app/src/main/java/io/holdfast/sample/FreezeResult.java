package io.holdfast.sample;

import org.jspecify.annotations.Nullable;

/**
 * The fate of a holder that froze while it had the lock.
 *
 * @param instance the port of the instance where it froze
 * @param leaseSeconds how long its lease was
 * @param others how those fared who wanted to write in that time
 * @param noticed whether its lease told it, when it went on, that it was no longer held
 * @param refusal why its own write was refused, or {@code null} if it was not
 */
record FreezeResult(String instance, long leaseSeconds, Outcome others, boolean noticed, @Nullable String refusal) {
}
