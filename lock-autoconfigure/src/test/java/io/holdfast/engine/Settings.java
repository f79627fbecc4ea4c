package io.holdfast.engine;

import java.util.List;

import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.Resource.Kind;

/**
 * Settings of engines, and requests with these defaults.
 */
public final class Settings {

	private Settings() {
	}

	/**
	 * Return the settings with other limits of local hand-over, for locks and permits.
	 */
	public static EngineSettings with(EngineSettings settings, HandOverLimits handOver) {
		return new EngineSettings(settings.waitTime(), settings.leaseTime(), settings.maxHold(), settings.lossMargin(),
				settings.semaphoreWaitTime(), settings.semaphoreLeaseTime(), settings.semaphoreFair(),
				settings.handoffTimeout(), settings.retryInterval(), settings.commandTimeout(),
				settings.outagePatience(), settings.maxWaiters(), settings.maxWaitersPerKey(), handOver, handOver);
	}

	static List<ResolvedRequest> resolve(LockRequest request, EngineSettings settings) {
		return ResolvedRequest.of(request, ResolvedRequest.defaults(Kind.LOCK, settings));
	}

	static ResolvedRequest resolve(SemaphoreRequest request, EngineSettings settings) {
		return ResolvedRequest.of(request, ResolvedRequest.defaults(Kind.SEMAPHORE, settings)).get(0);
	}

	/** Return the longest time until the caller of a request is answered. */
	static long waitNanos(ResolvedRequest request, EngineSettings settings) {
		return request.waits() ? request.waitNanos() : settings.commandTimeout().toNanos();
	}

}
