package io.holdfast.aop.invoke;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostException;
import io.holdfast.annotation.OnLoss;
import org.jspecify.annotations.Nullable;

/**
 * The leases of calls that belong to a transaction but are not acquired on its thread:
 * kept until both the method and the transaction have ended. Thread-safe.
 */
public final class TransactionShare implements TransactionReleases.Part {

	/** The innermost first. Guarded by this. */
	private final List<Kept> kept = new ArrayList<>(1);

	/** The leases of calls that have ended. Guarded by this. */
	private LeaseContext left = LeaseContext.empty();

	private boolean completed;

	/** Return the share of the transaction that the current thread is in. */
	static TransactionShare ofThread() {
		return TransactionReleases.part(TransactionShare.class, TransactionShare::new);
	}

	/**
	 * Return what the next call of the transaction runs under: also what is kept of those
	 * that have ended, or it would wait for the transaction, which waits for it.
	 * @param context what its caller runs under
	 * @return the context
	 */
	synchronized LeaseContext context(LeaseContext context) {
		LeaseContext result = this.left;
		for (int i = context.leases().size() - 1; i >= 0; i--) {
			result = result.with(context.leases().get(i));
		}
		return result;
	}

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
				if (this.leftToTransaction) {
					TransactionShare.this.left = TransactionShare.this.left.with(this.held.lease());
				}
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
