package io.holdfast.aop;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;

import io.holdfast.HoldfastException;
import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostException;
import io.holdfast.LeaseRequest;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.OnStoreFailure;
import io.holdfast.annotation.ReleaseAfter;
import io.holdfast.async.CallResult;
import io.holdfast.async.FencedLease;
import io.holdfast.async.LeaseInternals;
import io.holdfast.async.SingleLine;
import org.aopalliance.intercept.MethodInvocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.Assert;

/**
 * Lease of one annotation for one call, with evaluated expressions. For each kind of
 * result, a call acquires this lease or takes a result in place of the method's, runs the
 * method, and ends this lease. The lease is then released, or kept by the caller's
 * transaction. Thread-safe after the acquisition.
 */
final class MethodLease {

	private static final Log logger = LogFactory.getLog(MethodLease.class);

	private final LeasedMethod method;

	private final MethodInvocation invocation;

	private final Object service;

	private final LeaseRequest<?> request;

	private final NotAcquiredHandler notAcquiredHandler;

	/**
	 * Last run of the call if it failed, or {@code null} unless its permits are kept for
	 * the {@code minHold}: the next attempt may find no permits. Its caller then gets the
	 * failure of this run instead of that of the missing permits.
	 */
	private final @Nullable AtomicReference<@Nullable MethodLease> failedRun;

	/** End of the minHold, by {@link System#nanoTime()}, if permits are kept. */
	private long keptUntil;

	private volatile @Nullable Throwable failure;

	/** The lease, or {@code null} before the acquisition. */
	private @Nullable Lease lease;

	/** Transaction that is to keep the lease after the method, or {@code null}. */
	private @Nullable TransactionShare keepingTransaction;

	private volatile boolean leftToTransaction;

	/** Message of the loss, or {@code null} if no loss is known. */
	private volatile @Nullable String loss;

	/**
	 * Inner lease of the same call, which is released before this lease, or {@code null}.
	 */
	@Nullable MethodLease innerLease;

	private volatile boolean releaseFailed;

	/**
	 * Create the lease of a call.
	 * @param service the {@link LockService} or {@link SemaphoreService}
	 */
	MethodLease(LeasedMethod method, MethodInvocation invocation, Object service, LeaseRequest<?> request,
			NotAcquiredHandler notAcquiredHandler) {
		this.method = method;
		this.invocation = invocation;
		this.service = service;
		this.request = request;
		this.notAcquiredHandler = notAcquiredHandler;
		this.failedRun = method.keepsPermitsOfFailedRun() ? failedRun(invocation) : null;
	}

	Lease lease() {
		Lease acquired = this.lease;
		Assert.state(acquired != null, "Not acquired");
		return acquired;
	}

	/** Return the outcome of a loss. */
	OnLoss onLoss() {
		return this.method.onLoss();
	}

	/**
	 * Return whether the method runs without permits because the store failed.
	 */
	boolean isUnguarded() {
		return this.lease instanceof UnguardedPermits;
	}

	/**
	 * Return whether the lease may join a transaction: it is a lock, and spring-tx is
	 * present.
	 */
	boolean joinsTransaction() {
		return SpringTransactionBinding.POSSIBLE && this.request instanceof LockRequest;
	}

	/**
	 * Acquire the lease for the current thread, within the thread's context. Blocks for
	 * the declared wait time at most.
	 */
	void acquire() throws Throwable {
		TransactionShare transaction = (joinsTransaction()
				&& (TransactionSynchronizationManager.isActualTransactionActive()
						|| TransactionSynchronizationManager.hasResource(TransactionShare.class)))
								? SpringTransactionBinding.current() : null;
		LeaseRequest<?> requested = (transaction != null) ? within(LeaseContext.current().within(transaction))
				: this.request;
		if (requested instanceof LockRequest lock && lock.isFenced() && OwnTransaction.raisesToken(this.invocation,
				this.method.annotatedMethod().targetClass(), this.method.handler().beans())) {
			requested = lock.fencedByTransaction();
		}
		@Nullable Lease granted;
		try {
			granted = (requested instanceof LockRequest lock) ? ((LockService) this.service).acquire(lock)
					: ((SemaphoreService) this.service).acquire((SemaphoreRequest) requested);
		}
		catch (HoldfastException ex) {
			granted = unguarded(ex, transaction);
		}
		acquired(granted, transaction);
	}

	/**
	 * Request the lease without blocking. Call {@link #answered} with the outcome of the
	 * request.
	 * @return a future of the lease; cancelling it ends the wait
	 */
	CompletableFuture<? extends Lease> request(LeaseContext context) {
		LeaseRequest<?> requested = within(context);
		@Nullable CompletableFuture<? extends Lease> answer = (requested instanceof LockRequest lock)
				? ((LockService) this.service).acquireAsync(lock)
				: ((SemaphoreService) this.service).acquireAsync((SemaphoreRequest) requested);
		if (answer == null) {
			throw noAnswer("future");
		}
		return answer;
	}

	/**
	 * Take the outcome of a request.
	 * @param transaction the caller's transaction, or {@code null}
	 * @throws Throwable the exceptions of {@link #acquire()}
	 */
	void answered(@Nullable Lease granted, @Nullable Throwable failure, @Nullable TransactionShare transaction)
			throws Throwable {
		acquired((failure != null) ? unguarded(failure, transaction) : granted, transaction);
	}

	/** Set the context of a request for a lock. Permits are not re-entrant. */
	private LeaseRequest<?> within(LeaseContext context) {
		return (this.request instanceof LockRequest lock && !context.isEmpty()) ? lock.within(context) : this.request;
	}

	/**
	 * Return a lease that is not held if the method may run without permits; otherwise
	 * throw the exception.
	 */
	private Lease unguarded(Throwable failure, @Nullable TransactionShare transaction) throws Throwable {
		Throwable cause = CallResult.cause(failure);
		if (cause instanceof NotAcquiredException refused) {
			if (transaction != null) {
				transaction.explain(refused);
			}
			if (refused.getReason() == Reason.TIMED_OUT || refused.getReason() == Reason.EXCEEDS_LIMIT) {
				// This refusal is an answer of the store.
				this.method.handler().failing.remove(this.service);
			}
		}
		if (!(cause instanceof LeaseStoreException ex) || this.method.onStoreFailure() != OnStoreFailure.PROCEED
				|| !(this.request instanceof SemaphoreRequest permits)) {
			throw cause;
		}
		if (this.method.handler().failing.add(this.service)) {
			logger.warn(this.method.annotatedMethod()
					+ " lets the method run without a permit, as onStoreFailure is PROCEED. Further such calls are "
					+ "not logged until Redis grants or refuses permits again. " + ex.getMessage());
		}
		return new UnguardedPermits(permits, ex);
	}

	private void acquired(@Nullable Lease granted, @Nullable TransactionShare transaction) {
		if (granted == null) {
			throw noAnswer("lease");
		}
		if (!this.method.handler().failing.isEmpty() && !(granted instanceof UnguardedPermits)) {
			this.method.handler().failing.remove(this.service);
		}
		this.lease = granted;
		this.keptUntil = (this.failedRun != null) ? System.nanoTime() + this.request.minHold().toNanos() : 0;
		if (transaction != null && this.method.releaseAfter() == ReleaseAfter.TRANSACTION) {
			this.keepingTransaction = transaction;
			transaction.add(this);
		}
	}

	private IllegalStateException noAnswer(String missing) {
		return new IllegalStateException(
				this.service + " gave no " + missing + " for " + this.request + ": if it is a mock, let it give one");
	}

	/**
	 * Return the result of a call that did not get the lease.
	 * @param ex the reason
	 * @return the result of the fallback or strategy, or the empty result
	 * @throws Throwable the given exception, or the exception of the fallback or strategy
	 */
	@Nullable Object resultWithoutLease(HoldfastException ex) throws Throwable {
		Reason reason = (ex instanceof NotAcquiredException notAcquired) ? notAcquired.getReason() : null;
		MethodLease failed = (this.failedRun != null && reason == Reason.TIMED_OUT) ? this.failedRun.get() : null;
		if (failed != null && failed.failure != null && failed.keptUntil - System.nanoTime() > 0) {
			failed.failure.addSuppressed(ex);
			throw failed.failure;
		}
		boolean handled = (reason != null) ? reason != Reason.INTERRUPTED && reason != Reason.SELF_BLOCKED
				: ex instanceof LeaseStoreException && this.method.onStoreFailure() == OnStoreFailure.FALLBACK;
		if (!handled) {
			throw ex;
		}
		return this.notAcquiredHandler.take(this.invocation, ex);
	}

	/**
	 * Release the lease unused, because the method did not run. Does not block, and
	 * throws no exception.
	 */
	void discard() {
		releaseBy(lease()::discardAsync);
	}

	/**
	 * Release the lease after the completion of the transaction, without waiting for the
	 * answer. Called on a thread that may block. Does not block, and throws no exception.
	 * @return a future that is completed when the release is sent; never fails.
	 * Dependents must not block
	 */
	CompletableFuture<?> sendRelease() {
		return (this.lease instanceof LeaseInternals own) ? own.sendRelease() : releaseBy(lease()::releaseAsync);
	}

	/**
	 * Release the lease as {@link #sendRelease()} does, but on any thread.
	 * @return a future that is completed when the release is sent; never fails
	 */
	CompletableFuture<?> sendReleaseAsync() {
		return (this.lease instanceof LeaseInternals own) ? own.sendReleaseAsync() : releaseBy(lease()::releaseAsync);
	}

	/**
	 * End the lease after the method, and release it or leave it to the transaction.
	 * Throws no exception.
	 * @param failure the failure of the method, or {@code null}
	 * @return the exception for the caller, because of the method's failure or a loss;
	 * {@code null} if the caller gets the method's result
	 */
	@Nullable Throwable end(@Nullable Throwable failure) {
		waiveMinHold(failure == null);
		if (!leaveToTransaction()) {
			release();
		}
		return outcome(failure);
	}

	/**
	 * End the lease as {@link #end} does, without blocking.
	 * @param completed whether the method has neither failed nor was cancelled
	 * @return a future of the value of {@link #end}, completed when the release is sent
	 * or, if the result depends on it, answered; never fails
	 */
	CompletableFuture<@Nullable Throwable> endAsync(@Nullable Throwable failure, boolean completed) {
		waiveMinHold(completed && failure == null);
		if (leaveToTransaction()) {
			return CompletableFuture.completedFuture(outcome(failure));
		}
		CompletableFuture<?> released = awaitsRelease() ? releaseBy(lease()::releaseAsync) : sendReleaseAsync();
		return released.thenApply((done) -> outcome(failure));
	}

	/** Waive the minHold of a lock whose method has failed or was cancelled. */
	private void waiveMinHold(boolean completed) {
		if (!completed && this.lease instanceof LockLease lock) {
			lock.waiveMinHold();
		}
	}

	/**
	 * Leave the lease to the transaction. The transaction does not keep a lost lease,
	 * whose release reports the loss.
	 */
	private boolean leaveToTransaction() {
		boolean left = this.keepingTransaction != null && this.keepingTransaction.tryLeave(lease());
		if (left) {
			this.leftToTransaction = true;
		}
		return left;
	}

	/**
	 * Return whether the call waits for the answer to the release, because its outcome
	 * depends on it. After a failed release of the inner lease, the call waits again only
	 * if this lease is known to be lost, so that it waits for an unresponsive store only
	 * once.
	 */
	private boolean awaitsRelease() {
		if (!(this.lease instanceof LeaseInternals)) {
			return true;
		}
		MethodLease inner = this.innerLease;
		return onLoss() != OnLoss.NOTIFY && (inner == null || !inner.releaseFailed || !this.lease.isHeld());
	}

	private void release() {
		String whyLost = whyLost();
		try {
			if (awaitsRelease()) {
				released(lease().release(), null, whyLost);
			}
			else {
				lease().close();
			}
		}
		catch (RuntimeException | Error ex) {
			released(null, ex, whyLost);
		}
	}

	private CompletableFuture<?> releaseBy(CallResult.Code<CompletableFuture<ReleaseResult>> release) {
		String whyLost = whyLost();
		// Use follow, because a mock of a lease may return no future, and the caller
		// waits for the result.
		return CallResult.<ReleaseResult>follow(release).handle((result, failure) -> {
			released(result, failure, whyLost);
			return whyLost;
		});
	}

	/**
	 * Return the reason of a known loss, as the end of a message, or an empty text.
	 * Called before the release, which would become the reason.
	 */
	private String whyLost() {
		try {
			lease().ensureHeld();
			return "";
		}
		catch (LeaseLostException ex) {
			return ". " + ex.getMessage();
		}
	}

	private void released(@Nullable ReleaseResult result, @Nullable Throwable failure, String whyLost) {
		if (failure != null) {
			this.releaseFailed = true;
			logger.warn(describe() + " of " + this.method.annotatedMethod().qualifiedMethodName()
					+ " was not released at once; it ends with its lease at the latest", failure);
		}
		if (result == ReleaseResult.LOST || (failure != null && !whyLost.isEmpty())) {
			this.loss = describeLoss(whyLost);
			// The service has already logged a warning.
			logger.debug(this.loss);
		}
	}

	private String describeLoss(String whyLost) {
		String name = this.method.annotatedMethod().qualifiedMethodName();
		return describe() + " was lost " + (this.leftToTransaction
				? "before the transaction around " + name + " was completed" : "while " + name + " ran")
				+ ": others may have held it at the same time" + whyLost;
	}

	private String describe() {
		return (this.method.isLock() ? "Lock '" : "Permit of semaphore '") + SingleLine.of(lease().key()) + "'";
	}

	private @Nullable Throwable outcome(@Nullable Throwable failure) {
		Throwable outcome = failureOrLoss(failure);
		if (this.failedRun != null) {
			this.failure = outcome;
			this.failedRun.set((outcome != null) ? this : null);
		}
		return outcome;
	}

	private @Nullable Throwable failureOrLoss(@Nullable Throwable failure) {
		if (this.method.isFenced() && this.lease instanceof FencedLease fenced) {
			String refusal = fenced.refusal();
			if (refusal != null) {
				// Fail the call even if the method has caught the exception.
				return (failure instanceof LeaseLostException) ? failure : lost(refusal, failure, false);
			}
			if (failure == null && !fenced.hasPassed()) {
				warnOfUnchecked();
			}
		}
		String lossMessage = this.loss;
		return (lossMessage == null || onLoss() == OnLoss.NOTIFY) ? failure
				: lost(lossMessage, failure, onLoss() == OnLoss.INTERRUPT);
	}

	/** Warn once of a fenced method whose call has begun no checked transaction. */
	private void warnOfUnchecked() {
		AnnotatedMethod annotatedMethod = this.method.annotatedMethod();
		if (this.method.handler().unchecked.add(annotatedMethod.method())) {
			logger.warn(annotatedMethod + " is fenced, but a call began no transaction that was checked: "
					+ "what it wrote without one, in a read-only one or on another thread, a late holder writes, too. "
					+ "Write in a transaction of the fenced DataSource, or leave out fenced. Further calls are not logged");
		}
	}

	private Throwable lost(String message, @Nullable Throwable failure, boolean lossFirst) {
		if (failure == null || lossFirst) {
			return new LeaseLostException(lease().key(), message, failure);
		}
		failure.addSuppressed(new LeaseLostException(lease().key(), message));
		return failure;
	}

	/**
	 * Return the holder of the last failed run, which all attempts of a call and all
	 * subscriptions to its result share. Advice that repeats a call clones the
	 * invocation, and clones share user attributes.
	 */
	@SuppressWarnings("unchecked")
	private static AtomicReference<@Nullable MethodLease> failedRun(MethodInvocation invocation) {
		if (!(invocation instanceof ProxyMethodInvocation call)) {
			return new AtomicReference<>();
		}
		String name = MethodLease.class.getName();
		// Subscriptions to the result of a call may be concurrent.
		synchronized (call) {
			Object known = call.getUserAttribute(name);
			AtomicReference<@Nullable MethodLease> run = (known != null)
					? (AtomicReference<@Nullable MethodLease>) known : new AtomicReference<>();
			call.setUserAttribute(name, run);
			return run;
		}
	}

}
