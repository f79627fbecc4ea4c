package io.holdfast.testing;

import io.holdfast.SemaphoreStatus;
import org.jspecify.annotations.Nullable;

/** Status of a semaphore, for comparisons. */
public record SemaphoreFigures(String key, @Nullable Integer limit, boolean limitSet, int used, int holders,
		int waiting) {

	/** Return the figures of a status. */
	public static SemaphoreFigures of(SemaphoreStatus status) {
		return new SemaphoreFigures(status.key(), status.limit(), status.limitSet(), status.used(), status.holders(),
				status.waiting());
	}

}
