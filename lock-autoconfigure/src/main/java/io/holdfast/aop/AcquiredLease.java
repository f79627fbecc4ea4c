package io.holdfast.aop;

import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

import io.holdfast.Lease;
import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.ReleaseResult;
import io.holdfast.annotation.OnLoss;
import io.holdfast.aop.invoke.HeldMethodLease;
import io.holdfast.aop.invoke.TransactionShare;
import io.holdfast.aop.metadata.LeaseOperation;
import io.holdfast.async.FencedLease;
import io.holdfast.async.LeaseInternals;
import io.holdfast.async.SingleLine;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The lease of one call. It is released when the method has ended, or with the
 * transaction that keeps it. Thread-safe.
 */
final class AcquiredLease implements HeldMethodLease {

	private static final Log logger = LogFactory.getLog(AcquiredLease.class);

	private final Lease lease;

	private final LeaseAnnotationHandler<?, ?, ?> handler;

	private final LeaseOperation<?> operation;

	/** Keeps it when the method has ended. */
	private final @Nullable TransactionShare transaction;

	/** The attempts of the call, if its permits have a minHold. */
	private final @Nullable CallAttempts attempts;

	/** The end of the minHold, if there are attempts. */
	private final long keptUntil;

	/** Whether the transaction releases it. */
	private volatile boolean leftToTransaction;

	/** The message of its loss, once that is noticed. */
	private volatile @Nullable String loss;

	/**
	 * Create it.
	 * @param transaction what keeps it when the method has ended, or {@code null}
	 * @param attempts the attempts of the call, or {@code null} if its permits are not
	 * kept for them
	 * @param keptUntil the end of the minHold, if there are attempts
	 */
	AcquiredLease(Lease lease, LeaseAnnotationHandler<?, ?, ?> handler, LeaseOperation<?> operation,
			@Nullable TransactionShare transaction, @Nullable CallAttempts attempts, long keptUntil) {
		this.lease = lease;
		this.handler = handler;
		this.operation = operation;
		this.transaction = transaction;
		this.attempts = attempts;
		this.keptUntil = keptUntil;
	}

	@Override
	public Lease lease() {
		return this.lease;
	}

	@Override
	public boolean isUnguarded() {
		return this.lease instanceof UnguardedPermits;
	}

	@Override
	public OnLoss onLoss() {
		return this.operation.onLoss();
	}

	private void release() {
		String why = whyNotHeld();
		try {
			if (needsAnswer()) {
				onReleased(this.lease.release(), why);
			}
			else {
				this.lease.close();
			}
		}
		catch (RuntimeException | Error ex) {
			onReleaseFailed(ex, why);
		}
	}

	/** Return whether the outcome of the call depends on that of the release. */
	private boolean needsAnswer() {
		return onLoss() != OnLoss.NOTIFY || !(this.lease instanceof LeaseInternals);
	}

	@Override
	public void discard() {
		releaseBy(this.lease::discardAsync);
	}

	@Override
	public CompletableFuture<?> sendRelease() {
		return (this.lease instanceof LeaseInternals own) ? own.sendRelease() : releaseAsync();
	}

	@Override
	public CompletableFuture<?> sendReleaseAsync() {
		return (this.lease instanceof LeaseInternals own) ? own.sendReleaseAsync() : releaseAsync();
	}

	private CompletableFuture<?> releaseAsync() {
		return releaseBy(this.lease::releaseAsync);
	}

	private CompletableFuture<?> releaseBy(Supplier<CompletableFuture<?>> release) {
		String why = whyNotHeld();
		try {
			return release.get().handle((result, ex) -> {
				if (ex != null) {
					onReleaseFailed(ex, why);
				}
				else {
					onReleased((ReleaseResult) result, why);
				}
				return result;
			});
		}
		catch (RuntimeException | Error ex) {
			// Perhaps there is no future, if the lease is a mock: the caller waits for
			// this.
			onReleaseFailed(ex, why);
			return CompletableFuture.completedFuture("not released");
		}
	}

	@Override
	public @Nullable Throwable end(@Nullable Throwable failure) {
		waiveMinHold(failure);
		// What is not held any more is of no use to the transaction, and its release
		// tells whether it was lost.
		if (!tryLeave()) {
			release();
		}
		return verdict(failure);
	}

	@Override
	public CompletableFuture<@Nullable Throwable> endAsync(@Nullable Throwable failure) {
		waiveMinHold(failure);
		if (tryLeave()) {
			return CompletableFuture.completedFuture(verdict(failure));
		}
		CompletableFuture<?> released = needsAnswer() ? releaseAsync() : sendReleaseAsync();
		return released.thenApply((done) -> verdict(failure));
	}

	/** The minHold of a lock does not count for a run that fails. */
	private void waiveMinHold(@Nullable Throwable failure) {
		if (failure != null && this.lease instanceof LockLease lock) {
			lock.waiveMinHold();
		}
	}

	private boolean tryLeave() {
		boolean left = this.transaction != null && this.transaction.tryLeave(this.lease);
		if (left) {
			this.leftToTransaction = true;
		}
		return left;
	}

	private @Nullable Throwable verdict(@Nullable Throwable failure) {
		Throwable verdict = lossOr(failure);
		if (this.attempts != null) {
			this.attempts.ended(verdict, this.keptUntil);
		}
		return verdict;
	}

	private @Nullable Throwable lossOr(@Nullable Throwable failure) {
		if (this.operation.fenced() && this.lease instanceof FencedLease fenced) {
			String refusal = fenced.refusal();
			if (refusal != null) {
				return refusalOr(refusal, failure);
			}
			if (failure == null && !fenced.hasPassed()) {
				this.handler.warnOfUnchecked(this.operation);
			}
		}
		String lossMessage = this.loss;
		if (lossMessage == null || onLoss() == OnLoss.NOTIFY) {
			return failure;
		}
		if (failure == null || onLoss() == OnLoss.INTERRUPT) {
			return new LeaseLostException(this.lease.key(), lossMessage, failure);
		}
		failure.addSuppressed(new LeaseLostException(this.lease.key(), lossMessage));
		return failure;
	}

	/**
	 * A refused transaction fails its call, also if the method has caught the exception.
	 */
	private Throwable refusalOr(String refusal, @Nullable Throwable failure) {
		if (failure == null) {
			return new LeaseLostException(this.lease.key(), refusal);
		}
		if (!(failure instanceof LeaseLostException)) {
			failure.addSuppressed(new LeaseLostException(this.lease.key(), refusal));
		}
		return failure;
	}

	/**
	 * Return why the lease is not held, as the end of a message. Ask before the release,
	 * which is the reason afterwards.
	 */
	private String whyNotHeld() {
		try {
			this.lease.ensureHeld();
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
		if (!why.isEmpty()) {
			this.loss = describeLoss(why);
		}
		logger.warn(describe() + " of " + method() + " was not released at once; it ends with its lease at the latest",
				ex);
	}

	private String describeLoss(String why) {
		return describe()
				+ " was lost " + (this.leftToTransaction
						? "before the transaction around " + method() + " was completed" : "while " + method() + " ran")
				+ ": others may have held it at the same time" + why;
	}

	private String describe() {
		return this.handler.noun() + " '" + SingleLine.of(this.lease.key()) + "'";
	}

	private String method() {
		return this.operation.annotatedMethod().qualifiedMethodName();
	}

}
