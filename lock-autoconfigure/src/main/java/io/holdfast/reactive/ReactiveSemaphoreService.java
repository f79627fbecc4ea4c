package io.holdfast.reactive;

import io.holdfast.Lease;
import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.PermitLease;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * {@link SemaphoreService} for reactive chains. No method blocks. Each subscription
 * acquires new permits, and cancelling the subscription ends the wait. By default,
 * requests do not wait: see {@link SemaphoreRequest#waitTime}. Thread-safe.
 *
 * <p>
 * A chain {@linkplain #withPermits(SemaphoreRequest, Mono) with permits} gets its lease
 * by {@link ReactiveLeaseContext#current()}. Permits are not re-entrant.
 *
 * <p>
 * Errors are the exceptions of {@link SemaphoreService#acquire(SemaphoreRequest)}:
 * {@link PermitNotAcquiredException} and {@link LeaseStoreException}.
 *
 * @since 0.1.0
 */
public final class ReactiveSemaphoreService {

	private final SemaphoreService semaphores;

	/**
	 * Create the service.
	 * @param semaphores the service that grants the permits
	 */
	public ReactiveSemaphoreService(SemaphoreService semaphores) {
		this.semaphores = semaphores;
	}

	/**
	 * Run a chain with permits. The permits are acquired at the subscription, and
	 * released once when the chain completes, fails or is cancelled. The value and the
	 * end of the chain are emitted after the release was sent as by
	 * {@link Lease#close()}.
	 * <p>
	 * If the lease is lost, the chain is cancelled, and its subscriber gets a
	 * {@link LeaseLostException}. If the chain fails, its own error is emitted. A loss
	 * that becomes known only by the answer to the release is too late for the chain: it
	 * is reported by log and event.
	 * @param <T> the type of the chain's value
	 * @param request the semaphore, the number of permits and options
	 * @param chain the chain, subscribed to on a Holdfast thread that may block
	 * @return the chain with its permits
	 */
	public <T> Mono<T> withPermits(SemaphoreRequest request, Mono<T> chain) {
		return holding(request.forCode()).around(chain);
	}

	/**
	 * Run a chain of many values with permits, as
	 * {@link #withPermits(SemaphoreRequest, Mono)} does. Values and demand are passed on
	 * at once, completion and error after the release. A slow subscriber keeps the
	 * permits longer.
	 * @param <T> the type of the chain's values
	 * @param request the semaphore, the number of permits and options
	 * @param chain the chain, subscribed to on a Holdfast thread that may block
	 * @return the chain with its permits
	 */
	public <T> Flux<T> withPermits(SemaphoreRequest request, Flux<T> chain) {
		return holding(request.forCode()).around(chain);
	}

	/**
	 * Acquire permits that the subscriber must release, also if the chain fails. Prefer
	 * {@link #withPermits(SemaphoreRequest, Mono) withPermits}, which releases the
	 * permits itself. A lease that is granted after the cancellation is released. A lease
	 * that was emitted before the cancellation must be released by the subscriber, even
	 * if an operator drops the lease, as {@code timeout} may at the moment of the grant.
	 * @param request the semaphore, the number of permits and options
	 * @return the lease of all requested permits
	 */
	public Mono<PermitLease> acquire(SemaphoreRequest request) {
		return holding(request).acquisition();
	}

	/**
	 * Try to acquire permits. Tries once if the request has no wait time.
	 * @param request the semaphore, the number of permits and options
	 * @return the lease, which the subscriber must release; empty if not enough permits
	 * were free within the wait time
	 */
	public Mono<PermitLease> tryAcquire(SemaphoreRequest request) {
		return holding(LeaseHolding.onceByDefault(request)).tryAcquisition();
	}

	private LeaseHolding<PermitLease> holding(SemaphoreRequest request) {
		return new LeaseHolding<>((context) -> this.semaphores.acquireAsync(request));
	}

}
