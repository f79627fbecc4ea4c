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

/**
 * A lease for a user, on one hold or on several holds together.
 */
interface EngineLease extends Lease, LeaseInternals {

	/** Minimum lease time of an extension by the user. */
	Duration MIN_RENEWAL = Duration.ofMillis(1);

	/** Maximum lease time of an extension by the user. */
	Duration MAX_RENEWAL = Duration.ofDays(365);

	/** Return the engine's context. */
	EngineContext context();

	/** Return the holds of this lease, one for each key. */
	List<Hold> holds();

	/**
	 * Return the resource of this lease. For several keys, return a resource whose key
	 * lists the keys, for messages.
	 */
	Resource resource();

	/** Return the holds of this lease, one for each key; none after its release. */
	default List<Hold> openHolds() {
		return isReleased() ? List.of() : holds();
	}

	@Override
	default Map<String, Hold> grants() {
		return openHolds().stream().collect(Collectors.toMap((hold) -> hold.resource().key(), Function.identity()));
	}

	/** Return the fencing tokens of the holds. */
	default List<Long> fences() {
		return openHolds().stream().map((hold) -> hold.fence).toList();
	}

	@Override
	default String key() {
		return resource().key();
	}

	@Override
	default void extend(Duration leaseTime) {
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
	default CompletableFuture<Void> renewAsync(long millis) {
		List<Hold> holds = holds();
		return holds.get(0).queue.renewer().renewNow(holds, millis);
	}

	// Release

	/**
	 * Start the release of this lease. Does not block.
	 * @param used whether the lease reached its user
	 * @param blocking whether the current thread may block, and notifies the observers
	 * @return a future of the result. It may be completed on a thread of the driver:
	 * dependents must not block
	 */
	CompletableFuture<ReleaseResult> startRelease(boolean used, boolean blocking);

	/**
	 * Start the release of this lease for a caller that does not wait for the answer.
	 * @param blocking whether the current thread may block, and notifies the observers
	 * @return completed when the caller may continue; dependents must not block
	 */
	CompletableFuture<?> startUnawaitedRelease(boolean blocking);

	/** Notify the observers of pending events on the current thread, which may block. */
	void tellObservers();

	@Override
	default ReleaseResult release() {
		return context().await(startRelease(true, true), context().releasePatience(),
				(error) -> (error instanceof LeaseStoreException known) ? known
						: EngineExceptions.releaseTrouble(resource(), error));
	}

	@Override
	default void close() {
		if (!isReleased()) {
			context().awaitSent(sendRelease(), resource());
		}
	}

	@Override
	default CompletableFuture<ReleaseResult> releaseAsync() {
		return onCallbackThread(startRelease(true, false));
	}

	@Override
	default CompletableFuture<ReleaseResult> discardAsync() {
		return onCallbackThread(startRelease(false, false));
	}

	@Override
	default CompletableFuture<?> sendRelease() {
		return startUnawaitedRelease(true);
	}

	@Override
	default CompletableFuture<?> sendReleaseAsync() {
		return onCallbackThread(startUnawaitedRelease(false));
	}

	/** Return a future whose dependents may block. */
	private <T> CompletableFuture<T> onCallbackThread(CompletableFuture<T> end) {
		return end.whenCompleteAsync((result, error) -> tellObservers(), context()::executeCode);
	}

}
