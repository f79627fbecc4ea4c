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
 * A request with all defaults applied, in the units of the engine and the store. One of
 * the seven concepts of the engine. Immutable. The services create one for each request,
 * or one for each key of a request for several keys.
 *
 * @param resource the lock or semaphore
 * @param permits the number of permits; for a lock 1 for reading, otherwise
 * {@link Resource#ALL}
 * @param limit the limit of the request; 0 if only an operator's limit applies
 * @param fair whether earlier waiters come first; always true for locks
 * @param waits whether the request waits; otherwise a single answer of the store decides
 * @param waitNanos the maximum wait, if the request waits
 * @param leaseMillis the duration of the lease without renewal
 * @param claimMillis the initial lease of a grant to a waiter, which the waiter must
 * claim
 * @param lossMarginNanos the time between the loss of a lock for its holder and the
 * earliest grant to another owner
 * @param renewal whether the lease is renewed
 * @param maxHoldNanos the maximum time of a renewed lease
 * @param reentrant whether a thread that holds the lock gets a nested lease
 * @param minHoldNanos the minimum time until another owner gets the lock or permits
 * @param name the name for events, or {@code null}
 * @param forCode whether code runs under the lease until its release
 * @param optional whether the caller goes on without the lease
 * @param fenced whether databases refuse the transactions of a late holder
 * @param note the text shown with the holder, or {@code null}
 * @since 0.1.0
 */
record ResolvedRequest(Resource resource, int permits, int limit, boolean fair, boolean waits, long waitNanos,
		long leaseMillis, long claimMillis, long lossMarginNanos, boolean renewal, long maxHoldNanos, boolean reentrant,
		long minHoldNanos, @Nullable String name, boolean forCode, boolean optional, boolean fenced,
		@Nullable String note) {

	/** Time of an unlimited wait or hold, in nanoseconds. */
	static final long FOREVER = Long.MAX_VALUE / 4;

	/**
	 * Return the defaults of requests for a kind of resource, in the form of a request.
	 */
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

	/**
	 * Resolve a request for locks or permits: one request for each key, in the order of
	 * the keys.
	 */
	static List<ResolvedRequest> of(LeaseRequest<?> request, ResolvedRequest defaults) {
		if (request instanceof SemaphoreRequest permits) {
			return List.of(of(permits, defaults));
		}
		LockRequest locks = (LockRequest) request;
		List<String> keys = locks.keys();
		if (keys.size() == 1) {
			return List.of(of(locks, keys.get(0), defaults));
		}
		return keys.stream().map((key) -> of(locks, key, defaults)).toList();
	}

	private static ResolvedRequest of(LockRequest request, String key, ResolvedRequest defaults) {
		int permits = (request.mode() == LockMode.EXCLUSIVE) ? Resource.ALL : 1;
		Duration margin = request.lossMargin();
		return of(request, new Resource(Kind.LOCK, key), permits, Resource.ALL, true, request.isReentrant(),
				(margin != null) ? margin.toNanos() : defaults.lossMarginNanos, request.isFenced(), defaults);
	}

	private static ResolvedRequest of(SemaphoreRequest request, ResolvedRequest defaults) {
		Boolean fair = request.fair();
		return of(request, new Resource(Kind.SEMAPHORE, request.key()), request.permits(), request.limit(),
				(fair != null) ? fair : defaults.fair, false, 0, false, defaults);
	}

	private static ResolvedRequest of(LeaseRequest<?> request, Resource resource, int permits, int limit, boolean fair,
			boolean reentrant, long lossMarginNanos, boolean fenced, ResolvedRequest defaults) {
		Duration wait = request.waitTime();
		Duration lease = request.leaseTime();
		Duration maxHold = request.maxHold();
		// A default lease time must not exceed the maxHold of the request.
		long defaultLease = (maxHold != null) ? Math.min(maxHold.toMillis(), defaults.leaseMillis)
				: defaults.leaseMillis;
		long leaseMillis = (lease != null) ? lease.toMillis() : defaultLease;
		long marginMillis = TimeUnit.NANOSECONDS.toMillis(lossMarginNanos);
		if (lossMarginNanos > TimeUnit.MILLISECONDS.toNanos(leaseMillis) / 3) {
			throw excessiveMargin((LockRequest) request, marginMillis, leaseMillis);
		}
		// The margin is subtracted from the claim as from the lease.
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
	 * Return the exception for a margin that leaves no time for two renewals before the
	 * loss.
	 */
	private static IllegalArgumentException excessiveMargin(LockRequest request, long marginMillis, long leaseMillis) {
		return new IllegalArgumentException("lossMargin of lock '" + SingleLine.of(request.key()) + "' is "
				+ marginMillis + " ms" + ((request.lossMargin() == null) ? ", as holdfast.lock.loss-margin says" : "")
				+ ", more than a third of its lease time of " + leaseMillis + " ms: request a lossMargin of "
				+ leaseMillis / 3 + " ms at most, or a longer leaseTime");
	}

	/** Return whether this is a request for a lock for reading. */
	boolean reads() {
		return this.resource.kind() == Kind.LOCK && this.permits == 1;
	}

	/** Return whether both requests have the same terms in the store. */
	boolean hasTermsOf(ResolvedRequest other) {
		return this.permits == other.permits && this.limit == other.limit && this.fair == other.fair
				&& this.waits == other.waits && this.leaseMillis == other.leaseMillis
				&& this.claimMillis == other.claimMillis && this.lossMarginNanos == other.lossMarginNanos
				&& this.renewal == other.renewal;
	}

	/**
	 * Return whether a number of permits exceeds the limit of the request.
	 */
	boolean isAboveLimit(long wanted) {
		return this.limit > 0 && wanted > this.limit;
	}

}
