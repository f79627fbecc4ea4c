package io.holdfast.jdbc;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.async.DaemonThreads;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.context.SmartLifecycle;

/**
 * Clean-up of the fence tables of a context. Once a day, one instance deletes the rows of
 * a table whose tokens are older than the retention. A holder that is late by more than
 * the retention is no longer refused. Thread-safe.
 */
public final class FenceCleanUp implements SmartLifecycle {

	/** Key of the lock for the clean-up of a table, before the id of the table. */
	private static final String KEY = "holdfast:fence-clean-up:";

	private static final Log logger = LogFactory.getLog(FenceCleanUp.class);

	/** Minimum time between two clean-ups: a day less the time between two attempts. */
	private static final Duration PAUSE = Duration.ofHours(23);

	private final TransactionFences fences;

	private final LockService locks;

	private final Duration retention;

	private volatile @Nullable ScheduledExecutorService executor;

	/**
	 * Create the clean-up of a context.
	 * @param fences the fenced {@code DataSource}s
	 * @param locks the service that grants the lock for the clean-up
	 * @param retention the age from which rows are deleted
	 */
	public FenceCleanUp(TransactionFences fences, LockService locks, Duration retention) {
		this.fences = fences;
		this.locks = locks;
		this.retention = retention;
	}

	@Override
	public void start() {
		ScheduledExecutorService started = Executors.newSingleThreadScheduledExecutor(
				(action) -> new DaemonThreads().create(action, "holdfast-fence-clean-up"));
		this.executor = started;
		// After the start, and random, so that instances that start together do not all
		// try at once.
		started.scheduleWithFixedDelay(this::tryCleanUp, ThreadLocalRandom.current().nextLong(60, 600), 3600,
				TimeUnit.SECONDS);
	}

	@Override
	public void stop() {
		ScheduledExecutorService running = this.executor;
		if (running != null) {
			running.shutdownNow();
			this.executor = null;
		}
	}

	@Override
	public boolean isRunning() {
		return this.executor != null;
	}

	private void tryCleanUp() {
		try {
			cleanUp();
		}
		catch (RuntimeException ex) {
			if (isRunning()) {
				logger.warn("The fence tables were not cleaned up: " + ex.getMessage() + ". Tried again in an hour");
			}
		}
	}

	/**
	 * Clean up each table, unless another instance has done so in the last
	 * {@link #PAUSE}.
	 */
	void cleanUp() {
		this.fences.dataSources().forEach(this::cleanUp);
	}

	private void cleanUp(FencedDataSource fenced) {
		// Without namespace, as this thread has no tenant.
		Optional<LockLease> acquired = this.locks
			.tryAcquire(LockRequest.of(KEY + fenced.table().id()).namespace("").waitTime(Duration.ZERO).minHold(PAUSE));
		if (acquired.isEmpty()) {
			return;
		}
		try (LockLease lease = acquired.get()) {
			try {
				// Tokens are times in microseconds by the clock of Redis, which may be
				// ahead.
				long now = Math.min(lease.fencingToken(), System.currentTimeMillis() * 1000);
				int deleted = fenced.table()
					.deleteBelow(now - TimeUnit.MILLISECONDS.toMicros(this.retention.toMillis()));
				logger.debug("Deleted " + deleted + " old rows of the fence table of '" + fenced.name() + "'");
			}
			catch (RuntimeException ex) {
				lease.waiveMinHold();
				throw ex;
			}
		}
	}

}
