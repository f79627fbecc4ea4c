package io.holdfast.aop;

import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;

/**
 * The ways to acquire from a service what an annotation declares.
 *
 * @param <S> the type of the service
 * @param <R> the type of the requests
 * @param noun what is held, for messages: the key follows
 * @param blocking acquires within the context of the current thread
 * @param asynchronous acquires without blocking
 * @param unguarded gives a lease that is not held, for a call that runs although the
 * store failed
 */
record LeaseSource<S, R>(String noun, BiFunction<S, R, Lease> blocking, AsynchronousSource<S, R> asynchronous,
		BiFunction<R, LeaseStoreException, Lease> unguarded) {

	/** Locks may be nested in those of the context. */
	static final LeaseSource<LockService, LockRequest> LOCKS = new LeaseSource<>("Lock", LockService::acquire,
			(service, request, context) -> service.acquireAsync(request.within(context)), (request, failure) -> {
				// Refused when the annotation was read.
				throw failure;
			});

	/** Permits are not re-entrant. */
	static final LeaseSource<SemaphoreService, SemaphoreRequest> PERMITS = new LeaseSource<>("Permit of semaphore",
			SemaphoreService::acquire, (service, request, context) -> service.acquireAsync(request),
			UnguardedPermits::new);

	/** The way to acquire without blocking. */
	@FunctionalInterface
	interface AsynchronousSource<S, R> {

		/**
		 * Acquire.
		 * @param service the service
		 * @param request what is asked for
		 * @param context the leases that the call is under
		 * @return the lease to come
		 */
		CompletableFuture<? extends Lease> acquire(S service, R request, LeaseContext context);

	}

}
