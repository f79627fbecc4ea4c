package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.Collectors;

import io.holdfast.Lease;
import io.holdfast.LeaseStoreException;
import io.holdfast.ReleaseResult;
import io.holdfast.async.LeaseInternals;
import io.holdfast.engine.store.Resource;
import org.jspecify.annotations.Nullable;

/**
 * A lease for a user, on one hold or on several holds together.
 */
abstract class EngineLease implements Lease, LeaseInternals {

	/** Minimum lease time of an extension by the user. */
	private static final Duration MIN_RENEWAL = Duration.ofMillis(1);

	/** Maximum lease time of an extension by the user. */
	private static final Duration MAX_RENEWAL = Duration.ofDays(365);

	/** Message of the first refusal by a database, or {@code null}. */
	private volatile @Nullable String refusal;

	/** Whether a transaction under this lease has passed its check in a database. */
	private volatile boolean passed;

	/** Return the engine's context. */
	abstract EngineContext context();

	/** Return the holds of this lease, one for each key. */
	abstract List<Hold> holds();

	/**
	 * Return the resource of this lease. For several keys, return a resource whose key
	 * lists the keys, for messages.
	 */
	abstract Resource resource();

	/** Return the holds of this lease, one for each key; none after its release. */
	final List<Hold> openHolds() {
		return isReleased() ? List.of() : holds();
	}

	@Override
	public final Map<String, Hold> grants() {
		return openHolds().stream().collect(Collectors.toMap((hold) -> hold.resource().key(), Function.identity()));
	}

	/** Return the fencing tokens of the holds, also after the release of the lease. */
	final List<Long> fences() {
		return holds().stream().map((hold) -> hold.fence).toList();
	}

	@Override
	public final String key() {
		return resource().key();
	}

	@Override
	public final void extend(Duration leaseTime) {
		if (leaseTime.compareTo(MIN_RENEWAL) < 0 || leaseTime.compareTo(MAX_RENEWAL) > 0) {
			throw new IllegalArgumentException(
					"leaseTime of " + resource() + " is " + leaseTime + ", which is not from 1 ms to 365 days");
		}
		ensureHeld();
		context().awaitAnswer(renewAsync(leaseTime.toMillis()), resource(), "The renewal");
		ensureHeld();
	}

	/**
	 * Extend this lease on behalf of the user. Holds that the store keeps together are
	 * renewed by one command.
	 */
	final CompletableFuture<Void> renewAsync(long millis) {
		List<Hold> holds = holds();
		return holds.get(0).queue.renewer().renewNow(holds, millis);
	}

	// Fences in databases, as of FencedLease

	/** Return the name of a key in fence tables. */
	public final String fenceName(String key) {
		return context().fenceName(key);
	}

	/** End this lease by loss, because a database has refused a transaction under it. */
	public final void refuse(String key, String why, String message) {
		if (this.refusal == null) {
			this.refusal = message;
		}
		for (Hold hold : holds()) {
			if (hold.resource().key().equals(key)) {
				hold.queue.renewer().lose(hold, why);
			}
		}
	}

	/** Return the message of the first refusal, or {@code null}. */
	public final @Nullable String refusal() {
		return this.refusal;
	}

	/** Note that a transaction under this lease has passed its check. */
	public final void passed() {
		this.passed = true;
	}

	/** Return whether a transaction under this lease has passed its check. */
	public final boolean hasPassed() {
		return this.passed;
	}

	// Release

	/**
	 * Start the release of this lease. Does not block.
	 * @param used whether the lease reached its user
	 * @param blocking whether the current thread may block, and notifies the observers
	 * @return a future of the result. It may be completed on a thread of the driver:
	 * dependents must not block
	 */
	abstract CompletableFuture<ReleaseResult> startRelease(boolean used, boolean blocking);

	/**
	 * Start the release of this lease for a caller that does not wait for the answer.
	 * @param blocking whether the current thread may block, and notifies the observers
	 * @return completed when the caller may continue; dependents must not block
	 */
	abstract CompletableFuture<?> startUnawaitedRelease(boolean blocking);

	/** Notify the observers of pending events on the current thread, which may block. */
	abstract void tellObservers();

	@Override
	public final ReleaseResult release() {
		return context().await(startRelease(true, true), context().releasePatience(),
				(error) -> (error instanceof LeaseStoreException known) ? known
						: EngineExceptions.releaseTrouble(resource(), error));
	}

	@Override
	public final void close() {
		if (!isReleased()) {
			context().awaitSent(sendRelease(), resource());
		}
	}

	@Override
	public final CompletableFuture<ReleaseResult> releaseAsync() {
		return onCallbackThread(startRelease(true, false));
	}

	@Override
	public final CompletableFuture<ReleaseResult> discardAsync() {
		return onCallbackThread(startRelease(false, false));
	}

	@Override
	public final CompletableFuture<?> sendRelease() {
		return startUnawaitedRelease(true);
	}

	@Override
	public final CompletableFuture<?> sendReleaseAsync() {
		return onCallbackThread(startUnawaitedRelease(false));
	}

	/** Return a future whose dependents may block. */
	private <T> CompletableFuture<T> onCallbackThread(CompletableFuture<T> end) {
		return end.whenCompleteAsync((result, error) -> tellObservers(), context().code);
	}

}
