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
 * A lease of this engine as its user has it: of one hold, or of several together.
 */
interface EngineLease extends Lease, LeaseInternals {

	/** The shortest lease time of a renewal by hand. */
	Duration MIN_RENEWAL = Duration.ofMillis(1);

	/** The longest one. */
	Duration MAX_RENEWAL = Duration.ofDays(365);

	/** Return the shared parts of its engine. */
	EngineContext context();

	/** Return its holds, one for each key. */
	List<Hold> holds();

	/** Return its resource or, of several, one that names all of them in messages. */
	Resource resource();

	/** Return its holds, one for each key: none once it is released. */
	default List<Hold> openHolds() {
		return isReleased() ? List.of() : holds();
	}

	@Override
	default Map<String, Hold> grants() {
		return openHolds().stream().collect(Collectors.toMap((hold) -> hold.resource().key(), Function.identity()));
	}

	/** Return the fence of each of its holds. */
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

	/** Renew it by hand, those holds together that the store keeps together. */
	default CompletableFuture<Void> renewAsync(long millis) {
		List<Hold> holds = holds();
		return holds.get(0).queue.renewer().renewNow(holds, millis);
	}

	// Its release

	/**
	 * Begin to release it. Does not block.
	 * @param used whether it reached its user
	 * @param blocking whether the current thread may block, and tells the observers
	 * @return completed by the result, on the thread that has it: dependents must not
	 * block
	 */
	CompletableFuture<ReleaseResult> startRelease(boolean used, boolean blocking);

	/**
	 * Begin to release it for a caller that goes on without the answer.
	 * @param blocking whether the current thread may block, and tells the observers
	 * @return completed once the caller may go on; dependents must not block
	 */
	CompletableFuture<?> startUnawaitedRelease(boolean blocking);

	/** Tell the observers of their events on the current thread, which may block. */
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
