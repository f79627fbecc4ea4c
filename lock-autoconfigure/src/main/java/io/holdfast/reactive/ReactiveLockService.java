package io.holdfast.reactive;

import java.time.Duration;

import io.holdfast.Lease;
import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * {@link LockService} for reactive chains. No method blocks. Each subscription acquires a
 * new lease, and cancelling the subscription ends the wait. Thread-safe.
 *
 * <p>
 * A chain {@linkplain #withLock(LockRequest, Mono) with a lock} gets its lease by
 * {@link ReactiveLeaseContext#current()}. Requests inside the chain for the same key get
 * nested leases at once, with the same fencing token, also on other threads. Blocking
 * calls inside the chain, also of annotated methods, get nested leases if their code
 * opens the {@link io.holdfast.LeaseContext}. A chain that is subscribed to on a thread
 * whose context has a lease of the key gets a nested lease, too.
 *
 * <p>
 * Errors are the exceptions of {@link LockService#acquire(LockRequest)}:
 * {@link LockNotAcquiredException}, {@link LeaseStoreException}, or
 * {@link LeaseLostException} if the outer lease was lost.
 *
 * @since 0.1.0
 */
public final class ReactiveLockService {

	private final LockService locks;

	/**
	 * Create the service.
	 * @param locks the service that grants the locks
	 */
	public ReactiveLockService(LockService locks) {
		this.locks = locks;
	}

	/**
	 * Run a chain under a lock, with the defaults.
	 * @param <T> the type of the chain's value
	 * @param key the key to lock
	 * @param chain the chain
	 * @return the chain with its lock, see {@link #withLock(LockRequest, Mono)}
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	public <T> Mono<T> withLock(String key, Mono<T> chain) {
		return withLock(LockRequest.of(key), chain);
	}

	/**
	 * Run a chain under a lock. The lock is acquired at the subscription, and released
	 * once when the chain completes, fails or is cancelled. The value and the end of the
	 * chain are emitted after the release was sent as by {@link Lease#close()}.
	 * <p>
	 * If the lease is lost, the chain is cancelled, and its subscriber gets a
	 * {@link LeaseLostException}. If the chain fails, its own error is emitted. A loss
	 * that becomes known only by the answer to the release is too late for the chain: it
	 * is reported by log and event.
	 * @param <T> the type of the chain's value
	 * @param request the keys and options
	 * @param chain the chain, subscribed to on a Holdfast thread that may block
	 * @return the chain with its lock
	 */
	public <T> Mono<T> withLock(LockRequest request, Mono<T> chain) {
		return holding(request.forCode()).around(chain);
	}

	/**
	 * Run a chain of many values under a lock, with the defaults.
	 * @param <T> the type of the chain's values
	 * @param key the key to lock
	 * @param chain the chain
	 * @return the chain with its lock, see {@link #withLock(LockRequest, Flux)}
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	public <T> Flux<T> withLock(String key, Flux<T> chain) {
		return withLock(LockRequest.of(key), chain);
	}

	/**
	 * Run a chain of many values under a lock, as {@link #withLock(LockRequest, Mono)}
	 * does. Values and demand are passed on at once, completion and error after the
	 * release. A slow subscriber keeps the lock longer.
	 * @param <T> the type of the chain's values
	 * @param request the keys and options
	 * @param chain the chain, subscribed to on a Holdfast thread that may block
	 * @return the chain with its lock
	 */
	public <T> Flux<T> withLock(LockRequest request, Flux<T> chain) {
		return holding(request.forCode()).around(chain);
	}

	/**
	 * Acquire a lock, with the defaults.
	 * @param key the key to lock
	 * @return the lease, see {@link #acquire(LockRequest)}
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	public Mono<LockLease> acquire(String key) {
		return acquire(LockRequest.of(key));
	}

	/**
	 * Acquire a lock that the subscriber must release, also if the chain fails. Prefer
	 * {@link #withLock(LockRequest, Mono) withLock}, which releases the lock itself. A
	 * lease that is granted after the cancellation is released. A lease that was emitted
	 * before the cancellation must be released by the subscriber, even if an operator
	 * drops the lease, as {@code timeout} may at the moment of the grant.
	 * @param request the keys and options
	 * @return the lease
	 */
	public Mono<LockLease> acquire(LockRequest request) {
		return holding(request).acquisition();
	}

	/**
	 * Try once to acquire a lock, without waiting for another owner.
	 * @param key the key to lock
	 * @return the lease, which the subscriber must release; empty if another owner holds
	 * the key
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	public Mono<LockLease> tryAcquire(String key) {
		return tryAcquire(LockRequest.of(key).waitTime(Duration.ZERO));
	}

	/**
	 * Try to acquire a lock. Tries once if the request has no wait time.
	 * @param request the keys and options
	 * @return the lease, which the subscriber must release; empty if another owner held
	 * the key until the end of the wait time
	 */
	public Mono<LockLease> tryAcquire(LockRequest request) {
		return holding(LeaseHolding.onceByDefault(request)).tryAcquisition();
	}

	private LeaseHolding<LockLease> holding(LockRequest request) {
		return new LeaseHolding<>((context) -> {
			boolean within = request.context() == null && !context.isEmpty();
			return this.locks.acquireAsync(within ? request.within(context) : request);
		});
	}

}
