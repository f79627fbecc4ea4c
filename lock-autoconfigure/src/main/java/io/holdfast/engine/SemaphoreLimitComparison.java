package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import io.holdfast.async.SingleLine;
import io.holdfast.engine.store.InstanceStore.Member;
import io.holdfast.engine.store.LeaseStore.PermitState;
import io.holdfast.engine.store.Tokens;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * Warns once of each semaphore that other instances ask for with another limit than this
 * one. A while after a request it looks at the limit that was asked for last, which the
 * store knows while permits are held or waited for, and does so again from time to time
 * while the semaphore is used. Thread-safe.
 */
final class SemaphoreLimitComparison {

	private static final Log logger = LogFactory.getLog(SemaphoreLimitComparison.class);

	/** How much rarer further looks at a semaphore are than the first one is late. */
	private static final int RARER = 6;

	/** Semaphores beyond these are not compared. */
	private static final int MOST_KEYS = 1000;

	private static final int MOST_NAMED = 3;

	private final LeaseEngine engine;

	private final long delayNanos;

	private final Map<String, Comparison> comparisons = new ConcurrentHashMap<>();

	SemaphoreLimitComparison(LeaseEngine engine, Duration delay) {
		this.engine = engine;
		this.delayNanos = delay.toNanos();
	}

	/** Note a request. Does not block. */
	void asked(String key, int limit) {
		Comparison comparison = this.comparisons.get(key);
		if (comparison == null && this.comparisons.size() < MOST_KEYS) {
			comparison = this.comparisons.computeIfAbsent(key, Comparison::new);
		}
		if (comparison != null && comparison.isDue()) {
			comparison.begin(limit);
		}
	}

	/** One semaphore. */
	private final class Comparison {

		private final String key;

		private volatile long dueAt = System.nanoTime();

		private volatile boolean warned;

		Comparison(String key) {
			this.key = key;
		}

		boolean isDue() {
			return !this.warned && System.nanoTime() - this.dueAt >= 0;
		}

		void begin(int limit) {
			this.dueAt = System.nanoTime() + RARER * SemaphoreLimitComparison.this.delayNanos;
			SemaphoreLimitComparison.this.engine.context.scheduler.schedule(() -> look(limit),
					SemaphoreLimitComparison.this.delayNanos);
		}

		private void look(int limit) {
			if (SemaphoreLimitComparison.this.engine.isClosed()) {
				return;
			}
			SemaphoreLimitComparison.this.engine.inspectPermits(this.key).thenAccept((state) -> {
				if (differs(state, limit)) {
					// Looking for the others blocks.
					SemaphoreLimitComparison.this.engine.context.call(() -> warn(state.asked(), limit));
				}
			});
		}

		/**
		 * Return whether they differ, and no operator has set a limit, which comes before
		 * both.
		 */
		private boolean differs(PermitState state, int limit) {
			return state.limit() == null && state.asked() > 0 && state.asked() != limit;
		}

		private void warn(int asked, int limit) {
			if (!this.warned) {
				this.warned = true;
				logger.warn("Semaphore '" + SingleLine.of(this.key) + "' has a limit of " + limit
						+ " in this instance, and " + asked + " in another one" + SingleLine.of(others())
						+ ": each request is judged by its own limit. Give all instances the same limit, "
						+ "or set one for all of them by SemaphoreService.admin().setLimit");
			}
		}

	}

	/** Return the possible callers: the store does not tell which of them it was. */
	private String others() {
		InstanceDirectory directory = this.engine.context.directory();
		if (directory == null) {
			return "";
		}
		try {
			String own = Tokens.shown(this.engine.context.ensureStarted());
			List<String> others = directory.members()
				.stream()
				.filter((member) -> !member.instance().equals(own))
				.map(SemaphoreLimitComparison::describe)
				.toList();
			int shown = Math.min(others.size(), MOST_NAMED);
			return others.isEmpty() ? "" : " (other instances: " + String.join(", ", others.subList(0, shown))
					+ ((others.size() > shown) ? " and " + (others.size() - shown) + " more" : "") + ")";
		}
		catch (RuntimeException ex) {
			logger.debug("Other instances are not known", ex);
			return "";
		}
	}

	private static String describe(Member member) {
		return member.info().application() + " on " + member.info().host() + ", process " + member.info().process();
	}

}
