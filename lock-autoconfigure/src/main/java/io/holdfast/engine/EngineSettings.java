package io.holdfast.engine;

import java.time.Duration;

import io.holdfast.engine.store.HandOverLimits;
import org.jspecify.annotations.Nullable;

/**
 * The defaults of requests, and the times of an engine.
 *
 * @param waitTime how long a request for a lock waits; negative for without limit
 * @param leaseTime how long the lease of a lock lasts when it is not renewed
 * @param maxHold how long the lease of a lock is renewed in all, or {@code null} for no
 * limit
 * @param lossMargin how long before others may have a lock its holder counts as lost; 0,
 * not before
 * @param semaphoreWaitTime how long a request for permits waits; negative for without
 * limit
 * @param semaphoreLeaseTime how long a lease of permits lasts when it is not renewed
 * @param semaphoreFair whether requests for permits are served in their order
 * @param handoffTimeout how long a hand-off is granted at first; half of it is the
 * longest time after which a waiter asks again
 * @param retryInterval how often a waiter asks again for a key whose owner does not hand
 * it over, while wake-ups are not received, or while the store fails
 * @param commandTimeout how long a command may stay unanswered that no wait time bounds
 * @param outagePatience for how long a request that waits goes on asking while the store
 * fails, before it ends with that failure; 0, not at all
 * @param maxWaiters how many requests may wait at the same time
 * @param maxWaitersPerKey how many of them for one key
 * @param lockHandOver how long a lock stays within this instance
 * @param semaphoreHandOver how long a permit of a semaphore stays within this instance
 */
public record EngineSettings(Duration waitTime, Duration leaseTime, @Nullable Duration maxHold, Duration lossMargin,
		Duration semaphoreWaitTime, Duration semaphoreLeaseTime, boolean semaphoreFair, Duration handoffTimeout,
		Duration retryInterval, Duration commandTimeout, Duration outagePatience, int maxWaiters, int maxWaitersPerKey,
		HandOverLimits lockHandOver, HandOverLimits semaphoreHandOver) {

	/**
	 * The defaults: locks wait 10 s, permits not at all; leases 30 s, no longest hold, no
	 * loss margin, permits in order; hand-off timeout 5 s, retry interval 200 ms, command
	 * timeout 1 s, outage patience 3 s; 100,000 requests may wait, 10,000 of them for one
	 * key; locks and permits are handed over locally, 63 times and for 5 ms at most.
	 * @return the default settings
	 */
	public static EngineSettings defaults() {
		return new EngineSettings(Duration.ofSeconds(10), Duration.ofSeconds(30), null, Duration.ZERO, Duration.ZERO,
				Duration.ofSeconds(30), true, Duration.ofSeconds(5), Duration.ofMillis(200), Duration.ofSeconds(1),
				Duration.ofSeconds(3), 100_000, 10_000, HandOverLimits.DEFAULT, HandOverLimits.DEFAULT);
	}

}
