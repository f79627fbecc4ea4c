package io.holdfast.testing;

import io.holdfast.SemaphoreStatus;
import org.jspecify.annotations.Nullable;

/**
 * The status of a semaphore, for comparisons.
 */
public record SemaphoreFigures(String key, @Nullable Integer limit, boolean limitSet, int used, int holders,
		int waiting) {

	/** Return what a status tells. */
	public static SemaphoreFigures of(SemaphoreStatus status) {
		return new SemaphoreFigures(status.key(), status.limit(), status.limitSet(), status.used(), status.holders(),
				status.waiting());
	}

}
