package io.holdfast.engine;

import java.util.Comparator;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import io.holdfast.async.CallResult;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import org.jspecify.annotations.Nullable;

/**
 * The latest refusals of the store. Each kind of resource has its own, as a grant of
 * another kind takes other commands and rights. Thread-safe.
 */
final class Refusals {

	private static final long RETENTION_NANOS = TimeUnit.MINUTES.toNanos(1);

	private final Map<Kind, Refusal> requests = new ConcurrentHashMap<>();

	/**
	 * The refusal of the engine's own warm-up or check. A grant of any kind is better
	 * evidence.
	 */
	private volatile @Nullable Refusal own;

	/** Whether there has been one: most grants have nothing to end. */
	volatile boolean any;

	/** Note a failed request for a lease. */
	void onRequestFailed(Kind kind, Throwable error, long now) {
		Refusal refusal = Refusal.of(error, now);
		if (refusal != null) {
			this.any = true;
			this.requests.put(kind, refusal);
		}
	}

	/**
	 * Note a failed warm-up. It says nothing of an application with rights to the keys of
	 * locks only.
	 */
	void onWarmUpFailed(Throwable error, long now) {
		Refusal refusal = Refusal.of(error, now);
		if (refusal != null && (refusal.failure().isTemporary() || refusal.failure().isForbidden())) {
			this.any = true;
			this.own = refusal;
		}
	}

	/** Note a check that was to write. A missing right may be of no use here. */
	void onWriteFailed(Throwable error, long now) {
		Refusal refusal = Refusal.of(error, now);
		if (refusal != null && refusal.isOfWrites()) {
			this.any = true;
			this.own = refusal;
		}
	}

	/**
	 * Note a check that wrote. Requests may lack a right all the same.
	 * @param sentAt the time of the check
	 */
	void onWritten(long sentAt) {
		Refusal last = this.own;
		if (last != null && last.isOfWrites()) {
			this.own = null;
		}
		this.requests.values().removeIf((refusal) -> refusal.isOfWrites() && refusal.at() - sentAt <= 0);
	}

	/** Note a grant. */
	void onGranted(Kind kind) {
		if (this.own != null) {
			this.own = null;
		}
		if (!this.requests.isEmpty()) {
			this.requests.remove(kind);
		}
	}

	/** Forget all refusals. */
	void clear() {
		this.own = null;
		this.requests.clear();
	}

	/** Return the words of the latest refusal of the last minute, or {@code null}. */
	@Nullable String text(long now) {
		return Stream.concat(this.requests.values().stream(), Stream.ofNullable(this.own))
			.filter((refusal) -> now - refusal.at() < RETENTION_NANOS)
			.max(Comparator.comparingLong((refusal) -> refusal.at() - now))
			.map((refusal) -> Objects.requireNonNull(refusal.failure().refusal()))
			.orElse(null);
	}

	private record Refusal(StoreCommandException failure, long at) {

		static @Nullable Refusal of(Throwable error, long now) {
			return (CallResult.cause(error) instanceof StoreCommandException failure && failure.refusal() != null)
					? new Refusal(failure, now) : null;
		}

		/**
		 * Return whether the store takes no writes. Not so where a slot moves, or
		 * replicas do not confirm.
		 */
		boolean isOfWrites() {
			return this.failure.isTemporary() && !this.failure.isWorthWaiting();
		}

	}

}
