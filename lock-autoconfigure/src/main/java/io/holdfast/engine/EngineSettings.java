package io.holdfast.engine;

import java.time.Duration;

import io.holdfast.engine.store.HandOverLimits;
import org.jspecify.annotations.Nullable;

/**
 * Defaults of requests, and timeouts and limits of an engine.
 *
 * @param waitTime the wait time of requests for locks; negative to wait without limit
 * @param leaseTime the duration of a lock's lease without renewal
 * @param maxHold the maximum time of a lock's renewed lease, or {@code null} for no limit
 * @param lossMargin the time between the loss of a lock for its holder and the earliest
 * grant to another owner; 0 for none
 * @param semaphoreWaitTime the wait time of requests for permits; negative to wait
 * without limit
 * @param semaphoreLeaseTime the duration of a lease of permits without renewal
 * @param semaphoreFair whether requests for permits are served in order of arrival
 * @param handoffTimeout the claim without the loss margin: the initial lease of a grant
 * to a waiter; half of it is the maximum time between two attempts of a waiter
 * @param retryInterval the time between two attempts of a waiter if the owner does not
 * notify waiters, if notifications do not arrive, or if the store fails
 * @param commandTimeout the timeout of commands outside of waits
 * @param outagePatience the time for which a waiting request goes on while the store
 * fails; 0 to fail at once
 * @param maxWaiters the maximum number of waiting requests
 * @param maxWaitersPerKey the maximum number of waiting requests for one key
 * @param lockHandOver the limits of hand-overs of a lock within this instance
 * @param semaphoreHandOver the limits of hand-overs of permits within this instance
 */
public record EngineSettings(Duration waitTime, Duration leaseTime, @Nullable Duration maxHold, Duration lossMargin,
		Duration semaphoreWaitTime, Duration semaphoreLeaseTime, boolean semaphoreFair, Duration handoffTimeout,
		Duration retryInterval, Duration commandTimeout, Duration outagePatience, int maxWaiters, int maxWaitersPerKey,
		HandOverLimits lockHandOver, HandOverLimits semaphoreHandOver) {

	/**
	 * Return the default settings. Requests for locks wait for 10 s, requests for permits
	 * do not wait. Leases last 30 s, without maxHold and loss margin. Permits are granted
	 * in order of arrival. The claim is 5 s, the retry interval 200 ms, the command
	 * timeout 1 s, and the outage patience 3 s. At most 100,000 requests may wait, and
	 * 10,000 for one key. Locks and permits are handed over locally at most 63 times and
	 * for 5 ms.
	 * @return the default settings
	 */
	public static EngineSettings defaults() {
		return new EngineSettings(Duration.ofSeconds(10), Duration.ofSeconds(30), null, Duration.ZERO, Duration.ZERO,
				Duration.ofSeconds(30), true, Duration.ofSeconds(5), Duration.ofMillis(200), Duration.ofSeconds(1),
				Duration.ofSeconds(3), 100_000, 10_000, HandOverLimits.DEFAULT, HandOverLimits.DEFAULT);
	}

}
