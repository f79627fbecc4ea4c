package io.holdfast;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;

/**
 * The options that requests for locks and for permits have in common. Options that differ
 * in {@code forCode} and {@code optional} only are equal. Each request changes a copy,
 * before others see it.
 */
final class LeaseOptions implements Cloneable {

	static final LeaseOptions DEFAULTS = new LeaseOptions();

	/** Longest wait that is told apart from waiting for ever. */
	static final Duration FOREVER = Duration.ofNanos(Long.MAX_VALUE / 4);

	/** How long to wait, or {@code null} for the service's default. */
	@Nullable Duration waitTime;

	/**
	 * How long a lease lasts when it is not renewed, or {@code null} for the service's
	 * default.
	 */
	@Nullable Duration leaseTime;

	/** How long a lease is renewed in all, or {@code null} for the service's default. */
	@Nullable Duration maxHold;

	/** How long others are kept out at least. */
	Duration minHold = Duration.ZERO;

	/** Whether the lease is renewed. */
	boolean autoRenew = true;

	/** The name for events, or {@code null}. */
	@Nullable String name;

	/** The prefix that the keys have already, or {@code null} for the application's. */
	@Nullable String namespace;

	/** Whether code runs under the lease until its release. */
	boolean forCode;

	/** Whether the caller goes on without the lease. */
	boolean optional;

	/** Text that is shown with the holder, or {@code null}. */
	@Nullable String note;

	LeaseOptions copy() {
		try {
			return (LeaseOptions) clone();
		}
		catch (CloneNotSupportedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private List<?> asked() {
		return Arrays.asList(this.waitTime, this.leaseTime, this.maxHold, this.minHold, this.autoRenew, this.name,
				this.namespace, this.note);
	}

	@Override
	public boolean equals(@Nullable Object other) {
		return other instanceof LeaseOptions that && asked().equals(that.asked());
	}

	@Override
	public int hashCode() {
		return asked().hashCode();
	}

	@Override
	public String toString() {
		return "waitTime=" + (FOREVER.equals(this.waitTime) ? "forever" : this.waitTime) + ", leaseTime="
				+ this.leaseTime + ", maxHold=" + this.maxHold + ", minHold=" + this.minHold + ", autoRenew="
				+ this.autoRenew + ((this.name != null) ? ", name=" + SingleLine.of(this.name) : "")
				+ ((this.note != null) ? ", note=" + SingleLine.of(this.note) : "");
	}

}
