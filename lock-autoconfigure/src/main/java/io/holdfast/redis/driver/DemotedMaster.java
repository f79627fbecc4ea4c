package io.holdfast.redis.driver;

import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * The state of a connection to a server that may be the master no more, and refuses
 * writes. The server does not end the connection, and so the driver does not look for the
 * master. Thread-safe.
 */
final class DemotedMaster {

	private static final Log logger = LogFactory.getLog(DemotedMaster.class);

	/** Longer than a fail-over in which the server becomes the master again. */
	private static final long SHORTEST_NANOS = TimeUnit.SECONDS.toNanos(1);

	private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(8);

	/** For a connection without refusals to be as good as new. */
	private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(30);

	/** The first refusal of this connection. */
	private long firstAt;

	private long lastAt = System.nanoTime() - 2 * QUIET_NANOS;

	/** The time of refusals after which the connection is opened again. */
	private long patience = SHORTEST_NANOS;

	/**
	 * Note that a write was refused.
	 * @param reason the error of the server
	 * @param now the time
	 * @return whether the connection is to be opened again
	 */
	synchronized boolean onRefused(String reason, long now) {
		if (now - this.lastAt > QUIET_NANOS) {
			this.firstAt = now;
			this.patience = SHORTEST_NANOS;
		}
		this.lastAt = now;
		if (now - this.firstAt < this.patience) {
			return false;
		}
		String message = "Redis has refused writes for " + TimeUnit.NANOSECONDS.toMillis(now - this.firstAt) + " ms ("
				+ reason + "): its connection is opened again, as another server may be the master";
		if (this.patience == SHORTEST_NANOS) {
			logger.warn(message);
		}
		else {
			logger.debug(message);
		}
		this.firstAt = now;
		this.patience = Math.min(2 * this.patience, LONGEST_NANOS);
		return true;
	}

}
