package io.holdfast.engine;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

import io.holdfast.LockRequest;

/**
 * A request with its gaps filled from the settings, in the units that the engine and the
 * store count in.
 *
 * @param waits whether to queue for the key; if not, one answer decides
 * @param waitNanos how long until the caller is answered, whatever happens
 * @param leaseMillis how long a lease lasts when it is not renewed
 * @param claimMillis how long a hand-off is granted at first
 * @param renewal whether the lease is renewed
 * @param maxHoldNanos how long it is renewed in all
 * @param reentrant whether a thread that holds the key gets a nested lease
 */
record Demand(boolean waits, long waitNanos, long leaseMillis, long claimMillis, boolean renewal, long maxHoldNanos,
		boolean reentrant) {

	private static final long FOREVER = Long.MAX_VALUE / 4;

	static Demand of(LockRequest request, EngineSettings settings) {
		Duration wait = or(request.waitTime(), settings.waitTime());
		Duration lease = or(request.leaseTime(), settings.leaseTime());
		Duration maxHold = (request.maxHold() != null) ? request.maxHold() : settings.maxHold();
		long leaseMillis = lease.toMillis();
		long waitNanos = wait.isZero() ? settings.commandTimeout().toNanos() : wait.toNanos();
		return new Demand(!wait.isZero(), wait.isNegative() ? FOREVER : waitNanos, leaseMillis,
				Math.min(leaseMillis, settings.handoffTimeout().toMillis()), request.isRenewal(),
				(maxHold != null) ? maxHold.toNanos() : FOREVER, request.isReentrant());
	}

	private static Duration or(@Nullable Duration value, Duration defaultValue) {
		return (value != null) ? value : defaultValue;
	}

	LeaseStore.Next asNext(String token) {
		return new LeaseStore.Next(token, this.leaseMillis, this.claimMillis);
	}

}
