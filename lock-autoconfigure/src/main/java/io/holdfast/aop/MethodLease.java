package io.holdfast.aop;

import java.util.List;
import java.util.concurrent.CompletableFuture;

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
import org.springframework.util.Assert;

/**
 * The lease that one annotation asks for around one call, its expressions evaluated.
 * However the method gives its result, a call goes through this: acquire, or answer
 * instead of the method; run the method; end the lease, which is released now or with the
 * transaction that keeps it. Thread-safe once acquired.
 */
final class MethodLease {

	private static final Log logger = LogFactory.getLog(MethodLease.class);

	private final LeasedMethod method;

	private final MethodInvocation invocation;

	private final Object service;

	private final LeaseRequest<?> request;

	/** {@code null} if the caller's thread will ask for it. */
	private final @Nullable NotAcquiredHandler handler;

	/** Attempts of the call, if its permits are kept after a failure. */
	private final @Nullable Attempts attempts;

	/** The end of the minHold, if there are attempts. */
	private long keptUntil;

	/** {@code null} until it is acquired. */
	private @Nullable Lease lease;

	/** Keeps the lease when the method has ended. */
	private @Nullable TransactionShare keeper;

	/** Whether the transaction releases the lease. */
	private volatile boolean leftToTransaction;

	/** The message of the loss, once that is noticed. */
	private volatile @Nullable String loss;

	/** The lease of the same call that ends before this one. */
	@Nullable MethodLease inner;

	/** Whether the release has failed. */
	private volatile boolean releaseFailed;

	/**
	 * Create the lease of a call.
	 * @param service grants it: a service for locks, or for semaphores
	 */
	MethodLease(LeasedMethod method, MethodInvocation invocation, Object service, LeaseRequest<?> request,
			@Nullable NotAcquiredHandler handler, @Nullable Attempts attempts) {
		this.method = method;
		this.invocation = invocation;
		this.service = service;
		this.request = request;
		this.handler = handler;
		this.attempts = attempts;
	}

	Lease lease() {
		Lease acquired = this.lease;
		Assert.state(acquired != null, "Not acquired");
		return acquired;
	}

	/** Return the consequence of a loss for the call. */
	OnLoss onLoss() {
		return this.method.onLoss();
	}

	/**
	 * Return whether nothing is held, as the store failed and the method is to run all
	 * the same.
	 */
	boolean isUnguarded() {
		return this.lease instanceof UnguardedPermits;
	}

	/**
	 * Return whether it takes part in transactions, if there can be any. Blocking
	 * acquisitions see to that themselves.
	 */
	boolean joinsTransaction() {
		return SpringTransactionBinding.POSSIBLE && this.request instanceof LockRequest;
	}

	/**
	 * Acquire for the current thread, within its context. Blocks for the declared wait
	 * time at most.
	 */
	void acquire() throws Throwable {
		TransactionShare transaction = joinsTransaction() ? SpringTransactionBinding.current() : null;
		LeaseRequest<?> asked = (transaction != null) ? within(LeaseContext.current().within(transaction))
				: this.request;
		if (asked instanceof LockRequest lock && lock.isFenced()
				&& this.method.leavesTokenToTransaction(this.invocation)) {
			asked = lock.fencedByTransaction();
		}
		@Nullable Lease granted;
		try {
			granted = (asked instanceof LockRequest lock) ? ((LockService) this.service).acquire(lock)
					: ((SemaphoreService) this.service).acquire((SemaphoreRequest) asked);
		}
		catch (HoldfastException ex) {
			granted = unguarded(ex, transaction);
		}
		acquired(granted, transaction);
	}

	/**
	 * Acquire without blocking.
	 * @param transaction that of the caller, if there is one
	 * @return the lease to come; cancel it to give up: a lease that was granted by then
	 * is released. Fails as {@link #acquire()} throws
	 */
	CompletableFuture<Lease> acquireAsync(LeaseContext context, @Nullable TransactionShare transaction) {
		LeaseRequest<?> asked = within(context);
		@Nullable CompletableFuture<? extends Lease> granted = (asked instanceof LockRequest lock)
				? ((LockService) this.service).acquireAsync(lock)
				: ((SemaphoreService) this.service).acquireAsync((SemaphoreRequest) asked);
		if (granted == null) {
			return CompletableFuture.failedFuture(noAnswer("future"));
		}
		CompletableFuture<Lease> result = granted.newIncompleteFuture();
		granted.whenComplete((lease, failure) -> {
			try {
				acquired((failure != null) ? unguarded(failure, transaction) : lease, transaction);
			}
			catch (Throwable ex) {
				result.completeExceptionally(ex);
				return;
			}
			if (!result.complete(lease())) {
				discard();
			}
		});
		result.whenComplete((acquired, failure) -> {
			if (result.isCancelled()) {
				granted.cancel(true);
			}
		});
		return result;
	}

	/** Locks may be nested in those of the context; permits are not re-entrant. */
	private LeaseRequest<?> within(LeaseContext context) {
		return (this.request instanceof LockRequest lock && !context.isEmpty()) ? lock.within(context) : this.request;
	}

	/** Return a lease that is not held if the method is to run without, or throw. */
	private Lease unguarded(Throwable failure, @Nullable TransactionShare transaction) throws Throwable {
		Throwable cause = CallResult.cause(failure);
		if (!(cause instanceof HoldfastException ex)) {
			throw cause;
		}
		if (transaction != null && ex instanceof NotAcquiredException refused) {
			transaction.explain(refused);
		}
		return this.method.unguarded(this.service, this.request, ex);
	}

	private void acquired(@Nullable Lease granted, @Nullable TransactionShare transaction) {
		if (granted == null) {
			throw noAnswer("lease");
		}
		if (!this.method.handler().failing.isEmpty() && !(granted instanceof UnguardedPermits)) {
			this.method.onAnswer(this.service);
		}
		this.lease = granted;
		this.keptUntil = (this.attempts != null) ? System.nanoTime() + this.request.minHold().toNanos() : 0;
		if (transaction != null && this.method.releaseAfter() == ReleaseAfter.TRANSACTION) {
			this.keeper = transaction;
			transaction.add(this);
		}
	}

	private IllegalStateException noAnswer(String missing) {
		return new IllegalStateException(
				this.service + " gave no " + missing + " for " + this.request + ": if it is a mock, let it give one");
	}

	/**
	 * Return the result for the caller instead of the method's.
	 * @param ex why the lease was not acquired, or that the store failed
	 * @return the result of the fallback, or the empty one; of the method's return type
	 * @throws Throwable the given exception if that is the declared way, or that of the
	 * fallback
	 */
	@Nullable Object instead(HoldfastException ex) throws Throwable {
		Reason reason = (ex instanceof NotAcquiredException notAcquired) ? notAcquired.getReason() : null;
		// Of the attempt before, whose permits this one lacks.
		Throwable failed = (this.attempts != null && reason == Reason.TIMED_OUT) ? this.attempts.failure() : null;
		if (failed != null) {
			failed.addSuppressed(ex);
			throw failed;
		}
		boolean handled = (reason != null) ? reason != Reason.INTERRUPTED && reason != Reason.SELF_BLOCKED
				: ex instanceof LeaseStoreException && this.method.onStoreFailure() == OnStoreFailure.FALLBACK;
		if (!handled) {
			throw ex;
		}
		return ((this.handler != null) ? this.handler : this.method.notAcquiredHandler()).take(this.invocation, ex);
	}

	/**
	 * Release as if nothing had been held, as the method was not run. Does not block, and
	 * throws nothing: the store may be silent, and the caller's wait time over.
	 */
	void discard() {
		releaseBy(lease()::discardAsync);
	}

	/**
	 * Release without an answer, on a thread that may block, as the transaction was
	 * completed. Does not block, and throws nothing.
	 * @return completed once the release was sent, on a thread that must not block; never
	 * fails
	 */
	CompletableFuture<?> sendRelease() {
		return (this.lease instanceof LeaseInternals own) ? own.sendRelease() : releaseBy(lease()::releaseAsync);
	}

	/**
	 * Do the same on any thread.
	 * @return completed once the release was sent; never fails
	 */
	CompletableFuture<?> sendReleaseAsync() {
		return (this.lease instanceof LeaseInternals own) ? own.sendReleaseAsync() : releaseBy(lease()::releaseAsync);
	}

	/**
	 * End the lease, as the method has ended, and release it now or when it is time.
	 * Throws nothing.
	 * @param failure the failure of the method, or {@code null}
	 * @return the exception for the caller, whether the method's own or because the lease
	 * was lost; {@code null} for the method's result
	 */
	@Nullable Throwable end(@Nullable Throwable failure) {
		waiveMinHold(failure);
		// A lease that is not held any more is of no use to the transaction, and its
		// release tells of a loss.
		if (!tryLeave()) {
			release();
		}
		return verdict(failure);
	}

	/**
	 * Do the same without blocking.
	 * @return completed when the release was sent or, if the result depends on it,
	 * answered; with the value of {@link #end}; never fails
	 */
	CompletableFuture<@Nullable Throwable> endAsync(@Nullable Throwable failure) {
		waiveMinHold(failure);
		if (tryLeave()) {
			return CompletableFuture.completedFuture(verdict(failure));
		}
		CompletableFuture<?> released = needsAnswer() ? releaseBy(lease()::releaseAsync) : sendReleaseAsync();
		return released.thenApply((done) -> verdict(failure));
	}

	/** The minHold of a lock does not count for a run that fails. */
	private void waiveMinHold(@Nullable Throwable failure) {
		if (failure != null && this.lease instanceof LockLease lock) {
			lock.waiveMinHold();
		}
	}

	private boolean tryLeave() {
		boolean left = this.keeper != null && this.keeper.tryLeave(lease());
		if (left) {
			this.leftToTransaction = true;
		}
		return left;
	}

	/**
	 * Return whether the outcome of the call depends on that of the release. The call
	 * waits for a silent store once: behind a failed release, only for a lease that is
	 * lost already.
	 */
	private boolean needsAnswer() {
		if (!(this.lease instanceof LeaseInternals)) {
			return true;
		}
		MethodLease before = this.inner;
		return onLoss() != OnLoss.NOTIFY && (before == null || !before.releaseFailed || !this.lease.isHeld());
	}

	private void release() {
		String why = whyNotHeld();
		try {
			if (needsAnswer()) {
				onReleased(lease().release(), why);
			}
			else {
				lease().close();
			}
		}
		catch (RuntimeException | Error ex) {
			onReleaseFailed(ex, why);
		}
	}

	private CompletableFuture<?> releaseBy(CallResult.Code<CompletableFuture<ReleaseResult>> release) {
		String why = whyNotHeld();
		// Perhaps there is no future, if the lease is a mock: the caller waits for this.
		return CallResult.<ReleaseResult>follow(release).handle((result, ex) -> {
			if (ex != null) {
				onReleaseFailed(ex, why);
			}
			else {
				onReleased(result, why);
			}
			return why;
		});
	}

	/**
	 * Return why the lease is not held, as the end of a message. Ask before the release,
	 * which is the reason afterwards.
	 */
	private String whyNotHeld() {
		try {
			lease().ensureHeld();
			return "";
		}
		catch (LeaseLostException ex) {
			return ". " + ex.getMessage();
		}
	}

	private void onReleased(ReleaseResult result, String why) {
		if (result == ReleaseResult.LOST) {
			this.loss = describeLoss(why);
			// The service has warned of it already.
			logger.debug(this.loss);
		}
	}

	private void onReleaseFailed(Throwable ex, String why) {
		this.releaseFailed = true;
		if (!why.isEmpty()) {
			this.loss = describeLoss(why);
		}
		logger.warn(describe() + " of " + this.method.annotatedMethod().qualifiedMethodName()
				+ " was not released at once; it ends with its lease at the latest", ex);
	}

	private String describeLoss(String why) {
		String name = this.method.annotatedMethod().qualifiedMethodName();
		return describe() + " was lost " + (this.leftToTransaction
				? "before the transaction around " + name + " was completed" : "while " + name + " ran")
				+ ": others may have held it at the same time" + why;
	}

	private String describe() {
		return (this.method.isLock() ? "Lock '" : "Permit of semaphore '") + SingleLine.of(lease().key()) + "'";
	}

	private @Nullable Throwable verdict(@Nullable Throwable failure) {
		Throwable verdict = lossOr(failure);
		if (this.attempts != null) {
			this.attempts.ended(verdict, this.keptUntil);
		}
		return verdict;
	}

	private @Nullable Throwable lossOr(@Nullable Throwable failure) {
		if (this.method.isFenced() && this.lease instanceof FencedLease fenced) {
			String refusal = fenced.refusal();
			if (refusal != null) {
				// It fails the call, also if the method has caught the exception.
				return (failure instanceof LeaseLostException) ? failure : lost(refusal, failure, false);
			}
			if (failure == null && !fenced.hasPassed()) {
				this.method.warnOfUnchecked();
			}
		}
		String lossMessage = this.loss;
		return (lossMessage == null || onLoss() == OnLoss.NOTIFY) ? failure
				: lost(lossMessage, failure, onLoss() == OnLoss.INTERRUPT);
	}

	private Throwable lost(String message, @Nullable Throwable failure, boolean first) {
		if (failure == null || first) {
			return new LeaseLostException(lease().key(), message, failure);
		}
		failure.addSuppressed(new LeaseLostException(lease().key(), message));
		return failure;
	}

	/**
	 * The attempts of one call, which advice outside of the permits repeats, or the
	 * subscriptions to its result. A failed run keeps its permits for their
	 * {@code minHold}, so that the next attempt has none: the caller is to learn of the
	 * failure, not only of the missing permits. Thread-safe.
	 */
	static final class Attempts {

		private volatile @Nullable FailedRun failed;

		/**
		 * Return the attempts of a call. Advice that repeats a call clones its
		 * invocation, and clones share their attributes.
		 */
		static Attempts of(MethodInvocation invocation) {
			if (!(invocation instanceof ProxyMethodInvocation call)) {
				return new Attempts();
			}
			String name = Attempts.class.getName();
			if (call.getUserAttribute(name) instanceof Attempts known) {
				return known;
			}
			Attempts attempts = new Attempts();
			call.setUserAttribute(name, attempts);
			return attempts;
		}

		/** Note the end of a run, whose permits are kept for a while. */
		private void ended(@Nullable Throwable failure, long keptUntil) {
			this.failed = (failure != null) ? new FailedRun(failure, keptUntil) : null;
		}

		/** Return the failure of the last run, if its permits are still kept. */
		private @Nullable Throwable failure() {
			FailedRun last = this.failed;
			return (last != null && last.keptUntil() - System.nanoTime() > 0) ? last.failure() : null;
		}

		private record FailedRun(Throwable failure, long keptUntil) {

		}

	}

}
