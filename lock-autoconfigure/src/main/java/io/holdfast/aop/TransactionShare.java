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
import java.util.stream.Stream;

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
 * Leases of a transaction. The leases of ended calls are kept until the transaction is
 * completed, and later calls are nested in them. Thread-safe.
 */
final class TransactionShare implements TransactionBinding.Participation {

	private static final Log logger = LogFactory.getLog(TransactionShare.class);

	/** Leases of annotated calls, the innermost last. Guarded by this. */
	private final List<MethodLease> held = new ArrayList<>(1);

	/** Kept leases of ended calls, including those of services. Guarded by this. */
	private final Set<Lease> kept = new LinkedHashSet<>();

	/**
	 * Kept leases by key and grant. A transaction may have thousands of keys, and of
	 * calls for one key. Guarded by this.
	 */
	private final Map<String, Map<Object, Deque<Lease>>> grants = new HashMap<>();

	private boolean completed;

	/** Whether the transaction is suspended. */
	volatile boolean suspended;

	/** Share of the suspended transaction, or {@code null}. */
	final @Nullable TransactionShare outer;

	/**
	 * Create the share of a transaction.
	 * @param outer the share of the suspended transaction around it, or {@code null}
	 */
	TransactionShare(@Nullable TransactionShare outer) {
		this.outer = outer;
	}

	/**
	 * Return the share of calls outside the suspended transaction of a thread or chain:
	 * they are nested in its leases, and release their own leases at their end.
	 * @param bound the bound share, or {@code null}
	 * @return the share, or {@code null} if no transaction is suspended
	 */
	static @Nullable TransactionShare outside(@Nullable TransactionShare bound) {
		if (bound == null || !bound.suspended) {
			return null;
		}
		TransactionShare share = new TransactionShare(bound);
		share.completed = true;
		return share;
	}

	@Override
	public synchronized List<Lease> leases(String key) {
		List<Lease> outerLeases = (this.outer != null) ? this.outer.leases(key) : List.of();
		Map<Object, Deque<Lease>> leasesOfKey = this.grants.get(key);
		if (leasesOfKey == null) {
			return outerLeases;
		}
		leasesOfKey.values().forEach(TransactionShare::dropReleased);
		leasesOfKey.values().removeIf(Deque::isEmpty);
		return Stream.concat(leasesOfKey.values().stream().map(Deque::getFirst), outerLeases.stream()).toList();
	}

	/** Drop leases that users have released, up to the first unreleased lease. */
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
		this.kept.add(lease);
		if (lease instanceof LockLease && lease instanceof LeaseInternals own) {
			own.grants()
				.forEach((key, grant) -> this.grants.computeIfAbsent(key, (k) -> new LinkedHashMap<>(2))
					.computeIfAbsent(grant, (k) -> new ArrayDeque<>(1))
					.add(lease));
		}
		return true;
	}

	/**
	 * Add an explanation to the failure of a call if the transaction itself keeps the
	 * lease.
	 */
	synchronized void explain(NotAcquiredException ex) {
		if (leases(ex.getKey()).stream().anyMatch(Lease::isHeld)) {
			ex.addSuppressed(new IllegalStateException("The call waited for its own transaction, which keeps the lease "
					+ "of a call that ended during the wait: await the future of one call before the next"));
		}
	}

	/**
	 * Check that the transaction may be committed. May block.
	 * @throws LeaseLostException if a lease was lost, and its {@link OnLoss} is not
	 * {@code NOTIFY}
	 */
	void checkBeforeCommit() {
		if (BlockingWait.join(checkBeforeCommitAsync()) instanceof LeaseLostException ex) {
			throw ex;
		}
	}

	/**
	 * Check that the transaction may be committed, without blocking.
	 * @return a future of the exception that prevents the commit, or of {@code null}
	 */
	CompletableFuture<@Nullable Throwable> checkBeforeCommitAsync() {
		CompletableFuture<@Nullable Throwable> result = CompletableFuture.completedFuture(null);
		for (MethodLease lost : lost()) {
			result = result.thenCombine(lost.endAsync(null, true), (first, next) -> (first != null) ? first : next);
		}
		return result;
	}

	private synchronized List<MethodLease> lost() {
		return innermostFirst(this.held.stream()
			.filter((methodLease) -> methodLease.onLoss() != OnLoss.NOTIFY && !methodLease.lease().isHeld())
			.toList());
	}

	/**
	 * Release the kept leases after the completion of the transaction. Sends all
	 * releases, without waiting for their answers.
	 * @param rolledBack whether the transaction was rolled back
	 */
	void release(boolean rolledBack) {
		List<CompletableFuture<?>> sent = new ArrayList<>();
		complete(rolledBack).forEach((methodLease) -> sent.add(methodLease.sendRelease()));
		innermostFirst(this.kept).forEach((lease) -> sent.add(sendRelease(lease)));
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
	 * Release the kept leases after the completion of a reactive transaction, without
	 * blocking. Leases of services do not join reactive transactions.
	 * @param rolledBack whether the transaction was rolled back
	 * @return a future that is completed when the releases are sent
	 */
	CompletableFuture<?> releaseAsync(boolean rolledBack) {
		return CompletableFuture
			.allOf(complete(rolledBack).stream().map(MethodLease::sendReleaseAsync).toArray(CompletableFuture[]::new));
	}

	synchronized boolean isCompleted() {
		return this.completed;
	}

	/**
	 * Note the completion of the transaction, and return the kept leases of annotated
	 * calls. Calls that are still running release their leases themselves.
	 */
	private synchronized List<MethodLease> complete(boolean rolledBack) {
		this.completed = true;
		if (rolledBack) {
			// As after a failed run, a retry must not be kept out by the minHold.
			this.kept.forEach(TransactionShare::waiveMinHold);
		}
		List<MethodLease> ended = innermostFirst(
				this.held.stream().filter((methodLease) -> this.kept.contains(methodLease.lease())).toList());
		ended.forEach((methodLease) -> this.kept.remove(methodLease.lease()));
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
