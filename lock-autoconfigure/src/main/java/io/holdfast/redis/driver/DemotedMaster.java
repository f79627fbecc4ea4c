package io.holdfast.redis.driver;

import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * State of a connection whose server refuses writes, and may no longer be the master. The
 * server does not close the connection, and so the driver does not look for the new
 * master. Thread-safe.
 */
final class DemotedMaster {

	private static final Log logger = LogFactory.getLog(DemotedMaster.class);

	/**
	 * Minimum patience: longer than a fail-over by which the server becomes the master
	 * again.
	 */
	private static final long MIN_PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);

	private static final long MAX_PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(8);

	/** Time without refusals after which the connection counts as new. */
	private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(30);

	/** Time of the first refusal of this connection. */
	private long firstAt;

	private long lastAt = System.nanoTime() - 2 * QUIET_NANOS;

	/** Time of refusals after which the connection is reopened. */
	private long patience = MIN_PATIENCE_NANOS;

	/**
	 * Note that a write was refused.
	 * @param reason the error of the server
	 * @param now the time
	 * @return whether to reopen the connection
	 */
	synchronized boolean onRefused(String reason, long now) {
		if (now - this.lastAt > QUIET_NANOS) {
			this.firstAt = now;
			this.patience = MIN_PATIENCE_NANOS;
		}
		this.lastAt = now;
		if (now - this.firstAt < this.patience) {
			return false;
		}
		String message = "Redis has refused writes for " + TimeUnit.NANOSECONDS.toMillis(now - this.firstAt) + " ms ("
				+ reason + "): its connection is opened again, as another server may be the master";
		if (this.patience == MIN_PATIENCE_NANOS) {
			logger.warn(message);
		}
		else {
			logger.debug(message);
		}
		this.firstAt = now;
		this.patience = Math.min(2 * this.patience, MAX_PATIENCE_NANOS);
		return true;
	}

}
