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
 * Latest refusals of the store, per kind of resource: each kind needs different commands
 * and rights. Thread-safe.
 */
final class Refusals {

	private static final long RETENTION_NANOS = TimeUnit.MINUTES.toNanos(1);

	private final Map<Kind, Refusal> requests = new ConcurrentHashMap<>();

	/**
	 * Refusal of the engine's warm-up or check. Cleared by a grant of any kind, which is
	 * better evidence.
	 */
	private volatile @Nullable Refusal own;

	/** Whether there was any refusal. Spares grants the clean-up in the usual case. */
	volatile boolean any;

	/** Note the failure of a request for a lease. */
	void onRequestFailed(Kind kind, Throwable error, long now) {
		Refusal refusal = Refusal.of(error, now);
		if (refusal != null) {
			this.any = true;
			this.requests.put(kind, refusal);
		}
	}

	/**
	 * Note the failure of the warm-up. Other errors do not count: the application may
	 * intentionally have rights to the keys of locks only.
	 */
	void onWarmUpFailed(Throwable error, long now) {
		Refusal refusal = Refusal.of(error, now);
		if (refusal != null && (refusal.failure().isTemporary() || refusal.failure().isForbidden())) {
			this.any = true;
			this.own = refusal;
		}
	}

	/**
	 * Note the failure of a check that writes. A missing right does not count, as the
	 * application may not need it.
	 */
	void onWriteFailed(Throwable error, long now) {
		Refusal refusal = Refusal.of(error, now);
		if (refusal != null && refusal.isOfWrites()) {
			this.any = true;
			this.own = refusal;
		}
	}

	/**
	 * Note the success of a check that writes. Refusals for missing rights are kept.
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

	/**
	 * Return the message of the latest refusal within the last minute, or {@code null}.
	 */
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
		 * Return whether the store accepts no writes. A moving slot or missing
		 * confirmations of replicas do not count.
		 */
		boolean isOfWrites() {
			return this.failure.isTemporary() && !this.failure.isWorthWaiting();
		}

	}

}
