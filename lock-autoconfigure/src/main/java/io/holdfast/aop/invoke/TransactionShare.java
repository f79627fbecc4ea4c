package io.holdfast.aop.invoke;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.Lease;
import io.holdfast.LeaseLostException;
import io.holdfast.annotation.OnLoss;
import org.jspecify.annotations.Nullable;

/**
 * The leases of a call that belong to a transaction but are not acquired on its thread:
 * kept until both the method and the transaction have ended. Thread-safe.
 */
public final class TransactionShare implements TransactionReleases.Part {

	/** The innermost last. Guarded by this. */
	private final List<Kept> kept = new ArrayList<>(1);

	private boolean completed;

	/**
	 * Keep what was acquired until the transaction is completed, too.
	 * @param held what was acquired
	 * @return what is to be ended with the method
	 */
	public synchronized HeldMethodLease keep(HeldMethodLease held) {
		Kept added = new Kept(held);
		this.kept.add(0, added);
		return added;
	}

	@Override
	public void checkBeforeCommit() {
		for (HeldMethodLease lost : lost()) {
			if (lost.end(null) instanceof LeaseLostException ex) {
				throw ex;
			}
		}
	}

	/**
	 * Do what {@link #checkBeforeCommit()} does, without blocking.
	 * @return completed with why the transaction must not be committed, or {@code null}
	 */
	CompletableFuture<@Nullable Throwable> checkBeforeCommitAsync() {
		CompletableFuture<@Nullable Throwable> result = CompletableFuture.completedFuture(null);
		for (HeldMethodLease lost : lost()) {
			result = result.thenCombine(lost.endAsync(null), (first, next) -> (first != null) ? first : next);
		}
		return result;
	}

	private synchronized List<HeldMethodLease> lost() {
		return this.kept.stream().map((each) -> each.held).filter((held) -> !held.lease().isHeld()).toList();
	}

	@Override
	public void release() {
		complete().forEach(HeldMethodLease::release);
	}

	/**
	 * Do what {@link #release()} does, without blocking.
	 * @return completed when the releases were answered
	 */
	CompletableFuture<?> releaseAsync() {
		return CompletableFuture
			.allOf(complete().stream().map(HeldMethodLease::releaseAsync).toArray(CompletableFuture[]::new));
	}

	/** Note that the transaction has ended: what still runs releases by itself. */
	private synchronized List<HeldMethodLease> complete() {
		this.completed = true;
		return this.kept.stream().filter((each) -> each.leftToTransaction).map((each) -> each.held).toList();
	}

	/** One of the leases. */
	private final class Kept implements HeldMethodLease {

		private final HeldMethodLease held;

		/** Guarded by the share. */
		private boolean leftToTransaction;

		Kept(HeldMethodLease held) {
			this.held = held;
		}

		/**
		 * Leave the release to the transaction, unless that has ended or the lease is
		 * lost.
		 * @return whether it is left
		 */
		private boolean leaveToTransaction() {
			synchronized (TransactionShare.this) {
				this.leftToTransaction = !TransactionShare.this.completed && this.held.lease().isHeld();
				return this.leftToTransaction;
			}
		}

		@Override
		public Lease lease() {
			return this.held.lease();
		}

		@Override
		public boolean isUnguarded() {
			return this.held.isUnguarded();
		}

		@Override
		public OnLoss onLoss() {
			return this.held.onLoss();
		}

		@Override
		public CompletableFuture<?> discardAsync() {
			return this.held.discardAsync();
		}

		@Override
		public void release() {
			this.held.release();
		}

		@Override
		public CompletableFuture<?> releaseAsync() {
			return this.held.releaseAsync();
		}

		@Override
		public @Nullable Throwable end(@Nullable Throwable failure) {
			return leaveToTransaction() ? failure : this.held.end(failure);
		}

		@Override
		public CompletableFuture<@Nullable Throwable> endAsync(@Nullable Throwable failure) {
			return leaveToTransaction() ? CompletableFuture.completedFuture(failure) : this.held.endAsync(failure);
		}

	}

}
