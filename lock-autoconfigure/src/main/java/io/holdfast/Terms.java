package io.holdfast;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * What requests for locks and for permits have in common, but for what they ask for.
 *
 * @param waitTime how long to wait, or {@code null} for the service's default
 * @param leaseTime how long a lease lasts when it is not renewed, or {@code null} for the
 * service's default
 * @param maxHold how long a lease is renewed in all, or {@code null} for the service's
 * default
 * @param minHold how long others are kept out at least
 * @param renewal whether the lease is renewed
 * @param name what kind of thing it is, for events, or {@code null}
 * @param fair whether those who wait come first, or {@code null} for the service's
 * default
 */
record Terms(@Nullable Duration waitTime, @Nullable Duration leaseTime, @Nullable Duration maxHold, Duration minHold,
		boolean renewal, @Nullable String name, @Nullable Boolean fair) {

	static final Terms DEFAULTS = new Terms(null, null, null, Duration.ZERO, true, null, null);

	Terms withWaitTime(String of, Duration waitTime) {
		return new Terms(Requests.checkWait("waitTime" + of, waitTime), this.leaseTime, this.maxHold, this.minHold,
				this.renewal, this.name, this.fair);
	}

	Terms withLeaseTime(String of, Duration leaseTime) {
		Requests.checkBounds("leaseTime" + of, leaseTime, Requests.MIN_LEASE, Requests.MAX_LEASE);
		return new Terms(this.waitTime, leaseTime, this.maxHold, this.minHold, this.renewal, this.name, this.fair);
	}

	Terms withMaxHold(String of, Duration maxHold) {
		Requests.checkBounds("maxHold" + of, maxHold, Requests.MIN_LEASE, Requests.FOREVER);
		return new Terms(this.waitTime, this.leaseTime, maxHold, this.minHold, this.renewal, this.name, this.fair);
	}

	Terms withMinHold(String of, Duration minHold) {
		Requests.checkBounds("minHold" + of, minHold, Duration.ZERO, Requests.MAX_LEASE);
		return new Terms(this.waitTime, this.leaseTime, this.maxHold, minHold, this.renewal, this.name, this.fair);
	}

	Terms withRenewal(boolean renewal) {
		return new Terms(this.waitTime, this.leaseTime, this.maxHold, this.minHold, renewal, this.name, this.fair);
	}

	Terms withName(String of, String name) {
		Requests.checkName("name" + of, name);
		return new Terms(this.waitTime, this.leaseTime, this.maxHold, this.minHold, this.renewal, name, this.fair);
	}

	Terms withFair(boolean fair) {
		return new Terms(this.waitTime, this.leaseTime, this.maxHold, this.minHold, this.renewal, this.name, fair);
	}

	@Override
	public String toString() {
		return "waitTime=" + (Requests.FOREVER.equals(this.waitTime) ? "forever" : this.waitTime) + ", leaseTime="
				+ this.leaseTime + ", maxHold=" + this.maxHold + ", minHold=" + this.minHold + ", renewal="
				+ this.renewal + ((this.name != null) ? ", name=" + this.name : "") + ", fair=" + this.fair;
	}

}
