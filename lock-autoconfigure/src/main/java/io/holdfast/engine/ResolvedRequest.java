package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

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
 * @param waitNanos the longest time until the caller is answered, if it waits
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

	/** Return the defaults of requests for a kind of resource, as a request itself. */
	static ResolvedRequest defaults(Kind kind, EngineSettings settings) {
		boolean lock = kind == Kind.LOCK;
		Duration wait = lock ? settings.waitTime() : settings.semaphoreWaitTime();
		Duration lease = lock ? settings.leaseTime() : settings.semaphoreLeaseTime();
		Duration maxHold = lock ? settings.maxHold() : null;
		return new ResolvedRequest(new Resource(kind, ""), Resource.ALL, Resource.ALL, lock || settings.semaphoreFair(),
				!wait.isZero(), nanos(wait), lease.toMillis(), settings.handoffTimeout().toMillis(),
				lock ? settings.lossMargin().toNanos() : 0, true, (maxHold != null) ? maxHold.toNanos() : FOREVER, lock,
				0, null, false, false, false, null);
	}

	/** Resolve a request for locks: one for each key, in the order of the keys. */
	static List<ResolvedRequest> of(LockRequest request, ResolvedRequest defaults) {
		List<String> keys = request.keys();
		if (keys.size() == 1) {
			return List.of(of(request, keys.get(0), defaults));
		}
		return keys.stream().map((key) -> of(request, key, defaults)).toList();
	}

	private static ResolvedRequest of(LockRequest request, String key, ResolvedRequest defaults) {
		int permits = (request.mode() == LockMode.EXCLUSIVE) ? Resource.ALL : 1;
		Duration margin = request.lossMargin();
		return of(request, new Resource(Kind.LOCK, key), permits, Resource.ALL, true, request.isReentrant(),
				(margin != null) ? margin.toNanos() : defaults.lossMarginNanos, request.isFenced(), defaults);
	}

	/** Resolve a request for permits. */
	static ResolvedRequest of(SemaphoreRequest request, ResolvedRequest defaults) {
		Boolean fair = request.fair();
		return of(request, new Resource(Kind.SEMAPHORE, request.key()), request.permits(), request.limit(),
				(fair != null) ? fair : defaults.fair, false, 0, false, defaults);
	}

	private static ResolvedRequest of(LeaseRequest<?> request, Resource resource, int permits, int limit, boolean fair,
			boolean reentrant, long lossMarginNanos, boolean fenced, ResolvedRequest defaults) {
		Duration wait = request.waitTime();
		Duration lease = request.leaseTime();
		Duration maxHold = request.maxHold();
		// A default lease is not to outlast the maxHold of the request.
		long defaultLease = (maxHold != null) ? Math.min(maxHold.toMillis(), defaults.leaseMillis)
				: defaults.leaseMillis;
		long leaseMillis = (lease != null) ? lease.toMillis() : defaultLease;
		long marginMillis = TimeUnit.NANOSECONDS.toMillis(lossMarginNanos);
		if (lossMarginNanos > TimeUnit.MILLISECONDS.toNanos(leaseMillis) / 3) {
			throw excessiveMargin((LockRequest) request, marginMillis, leaseMillis);
		}
		// The margin comes off the claim as it does off the lease.
		return new ResolvedRequest(resource, permits, limit, fair, (wait != null) ? !wait.isZero() : defaults.waits,
				(wait != null) ? nanos(wait) : defaults.waitNanos, leaseMillis,
				Math.min(leaseMillis, defaults.claimMillis + marginMillis), lossMarginNanos, request.isAutoRenew(),
				(maxHold != null) ? maxHold.toNanos() : defaults.maxHoldNanos, reentrant, request.minHold().toNanos(),
				request.name(), request.isForCode(), request.isOptional(), fenced, request.note());
	}

	private static long nanos(Duration wait) {
		return wait.isNegative() ? FOREVER : wait.toNanos();
	}

	/**
	 * Return the exception for a margin without time for two renewals before the loss.
	 */
	private static IllegalArgumentException excessiveMargin(LockRequest request, long marginMillis, long leaseMillis) {
		return new IllegalArgumentException("lossMargin of lock '" + SingleLine.of(request.key()) + "' is "
				+ marginMillis + " ms" + ((request.lossMargin() == null) ? ", as holdfast.lock.loss-margin says" : "")
				+ ", more than a third of its lease time of " + leaseMillis + " ms: ask with a lossMargin of "
				+ leaseMillis / 3 + " ms at most, or with a longer leaseTime");
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
