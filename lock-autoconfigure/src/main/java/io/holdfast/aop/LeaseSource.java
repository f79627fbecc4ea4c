package io.holdfast.aop;

import java.util.concurrent.CompletableFuture;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;

/**
 * Acquires from a service what an annotation declares.
 *
 * @param <S> the type of the service
 * @param <R> the type of the requests
 */
interface LeaseSource<S, R> {

	/**
	 * Acquire within the context of the current thread. Blocks.
	 * @param service the service
	 * @param request what is asked for
	 * @return the lease
	 */
	Lease acquire(S service, R request);

	/**
	 * Acquire without blocking.
	 * @param service the service
	 * @param request what is asked for
	 * @param context the leases that the call is under
	 * @return the lease to come
	 */
	CompletableFuture<? extends Lease> acquireAsync(S service, R request, LeaseContext context);

	/**
	 * Return the lease of a call that runs all the same, although the store failed.
	 * @param request what was asked for
	 * @param failure the failure of the store
	 * @return a lease that is not held
	 */
	Lease unguarded(R request, LeaseStoreException failure);

	/**
	 * Return what is held, for messages: the key follows.
	 * @return the noun
	 */
	String noun();

	/**
	 * Locks may be nested in those of the context.
	 */
	final class OfLock implements LeaseSource<LockService, LockRequest> {

		@Override
		public Lease acquire(LockService service, LockRequest request) {
			return service.acquire(request);
		}

		@Override
		public CompletableFuture<? extends Lease> acquireAsync(LockService service, LockRequest request,
				LeaseContext context) {
			return service.acquireAsync(request.within(context));
		}

		@Override
		public Lease unguarded(LockRequest request, LeaseStoreException failure) {
			// Refused when the annotation was read.
			throw failure;
		}

		@Override
		public String noun() {
			return "Lock";
		}

	}

	/**
	 * Permits are not re-entrant.
	 */
	final class OfPermits implements LeaseSource<SemaphoreService, SemaphoreRequest> {

		@Override
		public Lease acquire(SemaphoreService service, SemaphoreRequest request) {
			return service.acquire(request);
		}

		@Override
		public CompletableFuture<? extends Lease> acquireAsync(SemaphoreService service, SemaphoreRequest request,
				LeaseContext context) {
			return service.acquireAsync(request);
		}

		@Override
		public Lease unguarded(SemaphoreRequest request, LeaseStoreException failure) {
			return new UnguardedPermits(request, failure);
		}

		@Override
		public String noun() {
			return "Permit of semaphore";
		}

	}

}
