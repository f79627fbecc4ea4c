package io.holdfast.engine;

import java.time.Duration;
import java.util.List;

import io.holdfast.LeaseRequest;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.async.SingleLine;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * A request with its gaps filled from the settings, in the units that the engine and the
 * store count in. One of the seven concepts of the engine; a value. The services make one
 * of each request, or several of a request for several keys, before anything is decided.
 *
 * @param resource the lock or semaphore
 * @param permits how many permits; of a lock 1 to read, else {@link Resource#ALL}
 * @param limit how many there are in all, as far as the request knows; 0 if only an
 * operator's limit counts
 * @param fair whether waiters come first; false only for permits
 * @param waits whether to queue for it; if not, one answer decides
 * @param waitNanos the longest time until the caller is answered
 * @param leaseMillis how long a lease lasts when it is not renewed
 * @param claimMillis how long a hand-off is granted at first
 * @param lossMarginNanos how long before others may have a lock its holder counts as lost
 * @param renewal whether the lease is renewed
 * @param maxHoldNanos how long it is renewed in all
 * @param reentrant whether a thread that holds it gets a nested lease
 * @param minHoldNanos how long others are kept out at least
 * @param name the name for events, or {@code null}
 * @param forCode whether code runs under the lease until its release
 * @param optional whether the caller goes on without the lease
 * @param fenced whether databases refuse the transactions of a late holder
 * @param note text that is shown with the holder, or {@code null}
 * @since 0.1.0
 */
record ResolvedRequest(Resource resource, int permits, int limit, boolean fair, boolean waits, long waitNanos,
		long leaseMillis, long claimMillis, long lossMarginNanos, boolean renewal, long maxHoldNanos, boolean reentrant,
		long minHoldNanos, @Nullable String name, boolean forCode, boolean optional, boolean fenced,
		@Nullable String note) {

	/** For a wait or a hold without end, in nanoseconds. */
	static final long FOREVER = Long.MAX_VALUE / 4;

	/** Resolve a request for locks: one for each key, in the order of the keys. */
	static List<ResolvedRequest> of(LockRequest request, EngineSettings settings) {
		List<String> keys = request.keys();
		if (keys.size() == 1) {
			return List.of(of(request, keys.get(0), settings));
		}
		return keys.stream().map((key) -> of(request, key, settings)).toList();
	}

	private static ResolvedRequest of(LockRequest request, String key, EngineSettings settings) {
		LockMode mode = request.mode();
		Resource resource = new Resource(Kind.LOCK, key);
		int permits = (mode == LockMode.EXCLUSIVE) ? Resource.ALL : 1;
		Duration maxHold = (request.maxHold() != null) ? request.maxHold() : settings.maxHold();
		return of(request, resource, permits, Resource.ALL, true, settings.waitTime(), settings.leaseTime(), maxHold,
				request.isReentrant(), settings);
	}

	/** Resolve a request for permits. */
	static ResolvedRequest of(SemaphoreRequest request, EngineSettings settings) {
		return of(request, new Resource(Kind.SEMAPHORE, request.key()), request.permits(), request.limit(),
				or(request.fair(), settings.semaphoreFair()), settings.semaphoreWaitTime(),
				settings.semaphoreLeaseTime(), request.maxHold(), false, settings);
	}

	private static ResolvedRequest of(LeaseRequest<?> request, Resource resource, int permits, int limit, boolean fair,
			Duration defaultWait, Duration defaultLease, @Nullable Duration maxHold, boolean reentrant,
			EngineSettings settings) {
		Duration wait = or(request.waitTime(), defaultWait);
		long leaseMillis = or(request.leaseTime(), within(defaultLease, request.maxHold())).toMillis();
		Duration lossMargin = (request instanceof LockRequest lock) ? lossMargin(lock, leaseMillis, settings)
				: Duration.ZERO;
		// It comes off the claim as it does off the lease.
		long claimMillis = settings.handoffTimeout().toMillis() + lossMargin.toMillis();
		long waitNanos = wait.isZero() ? settings.commandTimeout().toNanos() : wait.toNanos();
		return new ResolvedRequest(resource, permits, limit, fair, !wait.isZero(),
				wait.isNegative() ? FOREVER : waitNanos, leaseMillis, Math.min(leaseMillis, claimMillis),
				lossMargin.toNanos(), request.isAutoRenew(), (maxHold != null) ? maxHold.toNanos() : FOREVER, reentrant,
				request.minHold().toNanos(), request.name(), request.isForCode(), request.isOptional(),
				request instanceof LockRequest lock && lock.isFenced(), request.note());
	}

	/** Return a margin that leaves time for two renewals before the loss. */
	private static Duration lossMargin(LockRequest request, long leaseMillis, EngineSettings settings) {
		Duration margin = or(request.lossMargin(), settings.lossMargin());
		if (!margin.isZero() && margin.multipliedBy(3).compareTo(Duration.ofMillis(leaseMillis)) > 0) {
			throw new IllegalArgumentException("lossMargin of lock '" + SingleLine.of(request.key()) + "' is "
					+ margin.toMillis() + " ms"
					+ ((request.lossMargin() == null) ? ", as holdfast.lock.loss-margin says" : "")
					+ ", more than a third of its lease time of " + leaseMillis + " ms: ask with a lossMargin of "
					+ leaseMillis / 3 + " ms at most, or with a longer leaseTime");
		}
		return margin;
	}

	/** Return a default lease time that does not outlast the maxHold of a request. */
	private static Duration within(Duration leaseTime, @Nullable Duration maxHold) {
		return (maxHold != null && maxHold.compareTo(leaseTime) < 0) ? maxHold : leaseTime;
	}

	private static <T> T or(@Nullable T value, T defaultValue) {
		return (value != null) ? value : defaultValue;
	}

	/** Return whether it asks for a lock to read. */
	boolean reads() {
		return this.resource.kind() == Kind.LOCK && this.permits == 1;
	}

	/** Return whether the store is asked the same for both. */
	boolean hasTermsOf(ResolvedRequest other) {
		return this.permits == other.permits && this.limit == other.limit && this.fair == other.fair
				&& this.waits == other.waits && this.leaseMillis == other.leaseMillis
				&& this.claimMillis == other.claimMillis && this.lossMarginNanos == other.lossMarginNanos
				&& this.renewal == other.renewal;
	}

	/**
	 * Return whether a number of permits is more than the limit that the request knows.
	 */
	boolean isAboveLimit(long wanted) {
		return this.limit > 0 && wanted > this.limit;
	}

}
