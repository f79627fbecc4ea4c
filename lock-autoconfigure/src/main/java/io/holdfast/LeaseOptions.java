package io.holdfast;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;

/**
 * Options of a request. Instances are changed only by the request that has just copied
 * them, before publication. {@code forCode} and {@code optional} are not part of
 * equality.
 */
final class LeaseOptions implements Cloneable {

	static final LeaseOptions DEFAULTS = new LeaseOptions();

	/** Wait time from which a request waits without limit. */
	static final Duration FOREVER = Duration.ofNanos(Long.MAX_VALUE / 4);

	/** Maximum wait, or {@code null} for the service's default. */
	@Nullable Duration waitTime;

	/**
	 * Duration of the lease without renewal, or {@code null} for the service's default.
	 */
	@Nullable Duration leaseTime;

	/** Maximum time of a renewed lease, or {@code null} for the service's default. */
	@Nullable Duration maxHold;

	/** Minimum time until another owner gets the lock or permits. */
	Duration minHold = Duration.ZERO;

	/** Whether the lease is renewed. */
	boolean autoRenew = true;

	/** Name for events and meters, or {@code null}. */
	@Nullable String name;

	/** Namespace that the keys start with, or {@code null} if they have none yet. */
	@Nullable String namespace;

	/** Whether code runs under the lease until its release. */
	boolean forCode;

	/** Whether the caller goes on without the lease if it is not granted. */
	boolean optional;

	/** Text shown with the holder, or {@code null}. */
	@Nullable String note;

	// Of locks only

	/** Whether to lock exclusively or for reading. */
	LockMode mode = LockMode.EXCLUSIVE;

	/** Whether a thread that already holds the key gets a nested lease. */
	boolean reentrant = true;

	/** Context with the outer leases, or {@code null} for the default. */
	@Nullable LeaseContext context;

	/** Whether databases refuse the transactions of a late holder. */
	boolean fenced;

	/** Whether a transaction of the code raises the fencing token first. */
	boolean fencedByTransaction;

	/**
	 * Time between the loss of the lease and the earliest grant to another owner, or
	 * {@code null} for the service's default.
	 */
	@Nullable Duration lossMargin;

	// Of permits only

	/** Limit of the semaphore; 0 if only an operator's limit applies. */
	int limit;

	/** Number of permits. */
	int permits = 1;

	/**
	 * Whether requests are served in order of arrival, or {@code null} for the service's
	 * default.
	 */
	@Nullable Boolean fair;

	LeaseOptions copy() {
		try {
			return (LeaseOptions) clone();
		}
		catch (CloneNotSupportedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private List<?> comparedOptions() {
		return Arrays.asList(this.waitTime, this.leaseTime, this.maxHold, this.minHold, this.autoRenew, this.name,
				this.namespace, this.note, this.mode, this.reentrant, this.context, this.fenced,
				this.fencedByTransaction, this.lossMargin, this.limit, this.permits, this.fair);
	}

	@Override
	public boolean equals(@Nullable Object other) {
		return other instanceof LeaseOptions that && comparedOptions().equals(that.comparedOptions());
	}

	@Override
	public int hashCode() {
		return comparedOptions().hashCode();
	}

	@Override
	public String toString() {
		return "waitTime=" + (FOREVER.equals(this.waitTime) ? "forever" : this.waitTime) + ", leaseTime="
				+ this.leaseTime + ", maxHold=" + this.maxHold + ", minHold=" + this.minHold + ", autoRenew="
				+ this.autoRenew + ((this.name != null) ? ", name=" + SingleLine.of(this.name) : "")
				+ ((this.note != null) ? ", note=" + SingleLine.of(this.note) : "");
	}

}
