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
 * A {@link SemaphoreService} for reactive chains. No method blocks: permits are asked for
 * at subscription, anew for each one, and a cancelled subscription ends the wait. As with
 * all semaphores, there is no waiting unless a {@linkplain SemaphoreRequest#waitTime wait
 * time} is given or configured. Thread-safe.
 *
 * <p>
 * A chain {@linkplain #withPermits(SemaphoreRequest, Mono) with permits} finds its lease
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
	 * Run a chain with permits: acquired at subscription, kept until the chain completes,
	 * fails or is cancelled, and released then, once. The value and the end of the chain
	 * are passed on when the release was sent, as by {@link Lease#close()}.
	 * <p>
	 * If the lease is lost, the chain is cancelled, and its subscriber gets a
	 * {@link LeaseLostException}: others may have the permits by then. If the chain fails
	 * by itself, its own error is passed on. A loss that only the answer to the release
	 * tells comes too late for the chain: it is told by log and event.
	 * @param <T> the type of its value
	 * @param request which, how many, and how
	 * @param chain the work; subscribed to on a thread of Holdfast's that may block
	 * @return the chain with its permits
	 */
	public <T> Mono<T> withPermits(SemaphoreRequest request, Mono<T> chain) {
		return holding(request.forCode()).around(chain);
	}

	/**
	 * Run a chain of many values with permits, as
	 * {@link #withPermits(SemaphoreRequest, Mono)} does. Values and demand are passed on
	 * at once, completion and error after the release. The permits are kept for as long
	 * as the subscriber takes.
	 * @param <T> the type of its values
	 * @param request which, how many, and how
	 * @param chain the work; subscribed to on a thread of Holdfast's that may block
	 * @return the chain with its permits
	 */
	public <T> Flux<T> withPermits(SemaphoreRequest request, Flux<T> chain) {
		return holding(request.forCode()).around(chain);
	}

	/**
	 * Acquire permits, to be released by the subscriber, also if the chain fails. Prefer
	 * {@link #withPermits(SemaphoreRequest, Mono) withPermits}, which does that. A lease
	 * that is granted after the cancellation is released. One that was emitted before is
	 * the subscriber's, also if an operator drops it, as {@code timeout} does at the
	 * moment of the grant.
	 * @param request which, how many, and how
	 * @return the lease of all of them
	 */
	public Mono<PermitLease> acquire(SemaphoreRequest request) {
		return holding(request).acquisition();
	}

	/**
	 * Try to acquire permits; once, if the request has no wait time.
	 * @param request which, how many, and how
	 * @return the lease, to be released as that of {@link #acquire(SemaphoreRequest)};
	 * empty if not enough were free until the wait time was over
	 */
	public Mono<PermitLease> tryAcquire(SemaphoreRequest request) {
		return holding(LeaseHolding.onceByDefault(request)).tryAcquisition();
	}

	private LeaseHolding<PermitLease> holding(SemaphoreRequest request) {
		return new LeaseHolding<>((context) -> this.semaphores.acquireAsync(request));
	}

}
