package io.holdfast.aop.invoke;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostException;
import io.holdfast.NotAcquiredException;
import io.holdfast.TransactionBinding;
import io.holdfast.annotation.OnLoss;
import org.jspecify.annotations.Nullable;

/**
 * The leases of one transaction. Those of calls that have ended are kept until the
 * transaction is completed, and later calls run under them. Thread-safe.
 */
public final class TransactionShare implements TransactionBinding.Participation {

	/** What annotated calls hold, the innermost first. Guarded by this. */
	private final List<HeldMethodLease> held = new ArrayList<>(1);

	/** The leases of calls that have ended, also of services. Guarded by this. */
	private final Set<Lease> left = new LinkedHashSet<>();

	/** With the leases that were left. Guarded by this. */
	private LeaseContext context = LeaseContext.empty();

	private boolean completed;

	@Override
	public synchronized LeaseContext around(LeaseContext current) {
		LeaseContext result = this.context;
		for (int i = current.leases().size() - 1; i >= 0; i--) {
			result = result.with(current.leases().get(i));
		}
		return result;
	}

	/** Add what an annotated call has acquired. */
	public synchronized void add(HeldMethodLease acquired) {
		this.held.add(0, acquired);
	}

	@Override
	public synchronized boolean tryLeave(Lease lease) {
		if (this.completed || !lease.isHeld()) {
			return false;
		}
		this.left.add(lease);
		this.context = this.context.with(lease);
		return true;
	}

	/** Tell a call that waited in vain if another one left it the lease since. */
	public synchronized void explain(NotAcquiredException ex) {
		if (this.left.stream().anyMatch((lease) -> lease.key().equals(ex.getKey()) && lease.isHeld())) {
			ex.addSuppressed(new IllegalStateException("The call waited for its own transaction, which keeps the lease "
					+ "of a call that ended during the wait: await the future of one call before the next"));
		}
	}

	/**
	 * Check that the transaction may be committed. May block.
	 * @throws LeaseLostException if a lease was lost and that is not only to be notified
	 * of
	 */
	void checkBeforeCommit() {
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
		return this.held.stream().filter((each) -> each.onLoss() != OnLoss.NOTIFY && !each.lease().isHeld()).toList();
	}

	/** Release what was left, as the transaction is completed. May block. */
	void release() {
		complete().forEach(HeldMethodLease::release);
		this.left.forEach(Lease::close);
	}

	/**
	 * Do what {@link #release()} does, without blocking; services join no such
	 * transaction.
	 * @return completed when the releases were answered
	 */
	CompletableFuture<?> releaseAsync() {
		return CompletableFuture
			.allOf(complete().stream().map(HeldMethodLease::releaseAsync).toArray(CompletableFuture[]::new));
	}

	/** Note that the transaction has ended: what still runs releases by itself. */
	private synchronized List<HeldMethodLease> complete() {
		this.completed = true;
		List<HeldMethodLease> ended = this.held.stream().filter((each) -> this.left.contains(each.lease())).toList();
		ended.forEach((each) -> this.left.remove(each.lease()));
		return ended;
	}

}
