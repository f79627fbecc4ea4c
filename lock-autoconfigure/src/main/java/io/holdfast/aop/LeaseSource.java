package io.holdfast.aop;

import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import org.jspecify.annotations.Nullable;

/**
 * The ways to acquire the leases of an annotation from a service.
 *
 * @param <S> the type of the service
 * @param <R> the type of the requests
 * @param noun the kind of the leases, for messages: the key follows
 * @param blocking acquires within the context of the current thread if the request says
 * nothing else
 * @param asynchronous acquires without blocking
 * @param within has a request ask within a context, or {@code null} if no context and no
 * transaction matters
 * @param keptAfterFailure whether a minHold counts for a run that fails, too
 * @param fencedByTransaction says of a fenced request that the transaction of its method
 * raises the token
 */
record LeaseSource<S, R>(String noun, BiFunction<S, R, Lease> blocking,
		BiFunction<S, R, CompletableFuture<? extends Lease>> asynchronous,
		@Nullable BiFunction<R, LeaseContext, R> within, boolean keptAfterFailure,
		UnaryOperator<R> fencedByTransaction) {

	/** Locks may be nested in those of the context. */
	static final LeaseSource<LockService, LockRequest> LOCKS = new LeaseSource<>("Lock", LockService::acquire,
			LockService::acquireAsync, LockRequest::within, false, LockRequest::fencedByTransaction);

	/** Permits are not re-entrant. Their minHold limits a rate. */
	static final LeaseSource<SemaphoreService, SemaphoreRequest> PERMITS = new LeaseSource<>("Permit of semaphore",
			SemaphoreService::acquire, SemaphoreService::acquireAsync, null, true, UnaryOperator.identity());

	/** Have a request ask within a context, if that matters. */
	R within(R request, LeaseContext context) {
		return (this.within != null && !context.isEmpty()) ? this.within.apply(request, context) : request;
	}

}
