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
 * A {@link LockService} for reactive chains. No method blocks: locks are asked for at
 * subscription, anew for each one, and a cancelled subscription ends the wait.
 * Thread-safe.
 *
 * <p>
 * A chain {@linkplain #withLock(LockRequest, Mono) with a lock} runs under its lease,
 * which it finds by {@link ReactiveLeaseContext#current()}. Requests inside of the chain
 * for the same key get nested leases at once, with the same fencing token, also on other
 * threads; so do blocking calls and annotated methods there that open the
 * {@link io.holdfast.LeaseContext}, and chains that are subscribed to on a thread whose
 * context has such a lease.
 *
 * <p>
 * Errors are the exceptions of {@link LockService#acquire(LockRequest)}:
 * {@link LockNotAcquiredException} and {@link LeaseStoreException}, or
 * {@link LeaseLostException} if the lease to nest in was lost.
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
	 * @param <T> the type of its value
	 * @param key the key to lock
	 * @param chain the work
	 * @return the chain with its lock, see {@link #withLock(LockRequest, Mono)}
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	public <T> Mono<T> withLock(String key, Mono<T> chain) {
		return withLock(LockRequest.of(key), chain);
	}

	/**
	 * Run a chain under a lock: acquired at subscription, kept until the chain completes,
	 * fails or is cancelled, and released then, once. The value and the end of the chain
	 * are passed on when the release was sent, as by {@link Lease#close()}.
	 * <p>
	 * If the lease is lost, the chain is cancelled, and its subscriber gets a
	 * {@link LeaseLostException}: others may have the lock by then. If the chain fails by
	 * itself, its own error is passed on. A loss that only the answer to the release
	 * tells comes too late for the chain: it is told by log and event.
	 * @param <T> the type of its value
	 * @param request the keys to lock, and the terms
	 * @param chain the work; subscribed to on a thread of Holdfast's that may block
	 * @return the chain with its lock
	 */
	public <T> Mono<T> withLock(LockRequest request, Mono<T> chain) {
		return holding(request.forCode()).around(chain);
	}

	/**
	 * Run a chain of many values under a lock, with the defaults.
	 * @param <T> the type of its values
	 * @param key the key to lock
	 * @param chain the work
	 * @return the chain with its lock, see {@link #withLock(LockRequest, Flux)}
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	public <T> Flux<T> withLock(String key, Flux<T> chain) {
		return withLock(LockRequest.of(key), chain);
	}

	/**
	 * Run a chain of many values under a lock, as {@link #withLock(LockRequest, Mono)}
	 * does. Values and demand are passed on at once, completion and error after the
	 * release. The lock is kept for as long as the subscriber takes.
	 * @param <T> the type of its values
	 * @param request the keys to lock, and the terms
	 * @param chain the work; subscribed to on a thread of Holdfast's that may block
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
	 * Acquire a lock, to be released by the subscriber, also if the chain fails. Prefer
	 * {@link #withLock(LockRequest, Mono) withLock}, which does that. A lease that is
	 * granted after the cancellation is released. One that was emitted before is the
	 * subscriber's, also if an operator drops it, as {@code timeout} does at the moment
	 * of the grant.
	 * @param request the keys to lock, and the terms
	 * @return the lease
	 */
	public Mono<LockLease> acquire(LockRequest request) {
		return holding(request).acquisition();
	}

	/**
	 * Try once to acquire a lock, without waiting for others.
	 * @param key the key to lock
	 * @return the lease, to be released as that of {@link #acquire(LockRequest)}; empty
	 * if another owner holds the key
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	public Mono<LockLease> tryAcquire(String key) {
		return tryAcquire(LockRequest.of(key).waitTime(Duration.ZERO));
	}

	/**
	 * Try to acquire a lock; once, if the request has no wait time.
	 * @param request the keys to lock, and the terms
	 * @return the lease, to be released as that of {@link #acquire(LockRequest)}; empty
	 * if others held the key until the wait time was over
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
