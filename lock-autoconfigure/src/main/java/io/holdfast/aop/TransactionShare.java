package io.holdfast.aop;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

import io.holdfast.Lease;
import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.NotAcquiredException;
import io.holdfast.TransactionBinding;
import io.holdfast.annotation.OnLoss;
import io.holdfast.async.BlockingWait;
import io.holdfast.async.CallResult;
import io.holdfast.async.LeaseInternals;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The leases of one transaction. Those of calls that have ended are kept until the
 * transaction is completed, and later calls run under them. Thread-safe.
 */
final class TransactionShare implements TransactionBinding.Participation {

	private static final Log logger = LogFactory.getLog(TransactionShare.class);

	/** The leases of annotated calls, the innermost last. Guarded by this. */
	private final List<MethodLease> held = new ArrayList<>(1);

	/** The leases of calls that have ended, also of services. Guarded by this. */
	private final Set<Lease> left = new LinkedHashSet<>();

	/**
	 * The leases that were left for each grant of each key: a transaction may have
	 * thousands of calls for one key, and of keys. Guarded by this.
	 */
	private final Map<String, Map<Object, Deque<Lease>>> grants = new HashMap<>();

	private boolean completed;

	@Override
	public synchronized List<Lease> leases(String key) {
		Map<Object, Deque<Lease>> ofKey = this.grants.get(key);
		if (ofKey == null) {
			return List.of();
		}
		ofKey.values().forEach(TransactionShare::dropReleased);
		ofKey.values().removeIf(Deque::isEmpty);
		return ofKey.values().stream().map(Deque::getFirst).toList();
	}

	/** Drop leases that were released by hand, up to the first that is not. */
	private static void dropReleased(Deque<Lease> leases) {
		while (leases.peekFirst() instanceof LeaseInternals first && first.isReleased()) {
			leases.removeFirst();
		}
	}

	/** Add the lease of an annotated call. */
	synchronized void add(MethodLease acquired) {
		this.held.add(acquired);
	}

	@Override
	public synchronized boolean tryLeave(Lease lease) {
		if (this.completed || !lease.isHeld()) {
			return false;
		}
		this.left.add(lease);
		if (lease instanceof LockLease && lease instanceof LeaseInternals own) {
			own.grants()
				.forEach((key, grant) -> this.grants.computeIfAbsent(key, (k) -> new LinkedHashMap<>(2))
					.computeIfAbsent(grant, (k) -> new ArrayDeque<>(1))
					.add(lease));
		}
		return true;
	}

	/** Tell a call that waited in vain if another one left it the lease since. */
	synchronized void explain(NotAcquiredException ex) {
		if (leases(ex.getKey()).stream().anyMatch(Lease::isHeld)) {
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
		if (BlockingWait.join(checkBeforeCommitAsync()) instanceof LeaseLostException ex) {
			throw ex;
		}
	}

	/**
	 * Do the same as {@link #checkBeforeCommit()}, without blocking.
	 * @return completed with why the transaction must not be committed, or {@code null}
	 */
	CompletableFuture<@Nullable Throwable> checkBeforeCommitAsync() {
		CompletableFuture<@Nullable Throwable> result = CompletableFuture.completedFuture(null);
		for (MethodLease lost : lost()) {
			result = result.thenCombine(lost.endAsync(null), (first, next) -> (first != null) ? first : next);
		}
		return result;
	}

	private synchronized List<MethodLease> lost() {
		return innermostFirst(
				this.held.stream().filter((each) -> each.onLoss() != OnLoss.NOTIFY && !each.lease().isHeld()).toList());
	}

	/**
	 * Release the leases that were left, as the transaction is completed: all together,
	 * without waiting for the answers, on which nothing depends any more.
	 * @param rolledBack whether the work of the calls was undone
	 */
	void release(boolean rolledBack) {
		List<CompletableFuture<?>> sent = new ArrayList<>();
		complete(rolledBack).forEach((each) -> sent.add(each.sendRelease()));
		innermostFirst(this.left).forEach((each) -> sent.add(sendRelease(each)));
		sent.forEach(BlockingWait::awaitEnd);
	}

	private static CompletableFuture<?> sendRelease(Lease lease) {
		return (lease instanceof LeaseInternals own) ? own.sendRelease()
				: lease.releaseAsync().whenComplete((result, failure) -> {
					if (failure != null) {
						logger.warn(CallResult.cause(failure).getMessage());
					}
				});
	}

	/**
	 * Release them without blocking; services join no such transaction.
	 * @param rolledBack whether the work of the calls was undone
	 * @return completed when the releases were sent
	 */
	CompletableFuture<?> releaseAsync(boolean rolledBack) {
		return CompletableFuture
			.allOf(complete(rolledBack).stream().map(MethodLease::sendReleaseAsync).toArray(CompletableFuture[]::new));
	}

	/**
	 * Note that the transaction has ended: calls that still run release by themselves.
	 */
	private synchronized List<MethodLease> complete(boolean rolledBack) {
		this.completed = true;
		if (rolledBack) {
			// As for a run that fails: its retry is not to find itself kept out.
			this.left.forEach(TransactionShare::waiveMinHold);
		}
		List<MethodLease> ended = innermostFirst(
				this.held.stream().filter((each) -> this.left.contains(each.lease())).toList());
		ended.forEach((each) -> this.left.remove(each.lease()));
		return ended;
	}

	private static void waiveMinHold(Lease lease) {
		if (lease instanceof LockLease lock) {
			lock.waiveMinHold();
		}
	}

	private static <T> List<T> innermostFirst(Collection<T> inOrder) {
		List<T> result = new ArrayList<>(inOrder);
		Collections.reverse(result);
		return result;
	}

}
