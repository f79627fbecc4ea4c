package io.holdfast;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;

/**
 * The options that requests for locks and for permits have in common. Options that differ
 * in {@code forCode} and {@code optional} only are equal.
 *
 * @param waitTime how long to wait, or {@code null} for the service's default
 * @param leaseTime how long a lease lasts when it is not renewed, or {@code null} for the
 * service's default
 * @param maxHold how long a lease is renewed in all, or {@code null} for the service's
 * default
 * @param minHold how long others are kept out at least
 * @param autoRenew whether the lease is renewed
 * @param name the name for events, or {@code null}
 * @param namespace the prefix that the keys have already, or {@code null} for the
 * application's
 * @param forCode whether code runs under the lease until its release
 * @param optional whether the caller goes on without the lease
 * @param note text that is shown with the holder, or {@code null}
 */
record LeaseOptions(@Nullable Duration waitTime, @Nullable Duration leaseTime, @Nullable Duration maxHold,
		Duration minHold, boolean autoRenew, @Nullable String name, @Nullable String namespace, boolean forCode,
		boolean optional, @Nullable String note) {

	static final LeaseOptions DEFAULTS = new LeaseOptions(null, null, null, Duration.ZERO, true, null, null, false,
			false, null);

	LeaseOptions withWaitTime(String of, Duration waitTime) {
		return new LeaseOptions(RequestChecks.checkWait("waitTime" + of, waitTime), this.leaseTime, this.maxHold,
				this.minHold, this.autoRenew, this.name, this.namespace, this.forCode, this.optional, this.note);
	}

	LeaseOptions withLeaseTime(String of, Duration leaseTime) {
		RequestChecks.checkBounds("leaseTime" + of, leaseTime, RequestChecks.MIN_LEASE, RequestChecks.MAX_LEASE);
		return new LeaseOptions(this.waitTime, leaseTime, this.maxHold, this.minHold, this.autoRenew, this.name,
				this.namespace, this.forCode, this.optional, this.note);
	}

	LeaseOptions withMaxHold(String of, Duration maxHold) {
		RequestChecks.checkBounds("maxHold" + of, maxHold, RequestChecks.MIN_LEASE, RequestChecks.FOREVER);
		return new LeaseOptions(this.waitTime, this.leaseTime, maxHold, this.minHold, this.autoRenew, this.name,
				this.namespace, this.forCode, this.optional, this.note);
	}

	LeaseOptions withMinHold(String of, Duration minHold) {
		RequestChecks.checkBounds("minHold" + of, minHold, Duration.ZERO, RequestChecks.MAX_LEASE);
		return new LeaseOptions(this.waitTime, this.leaseTime, this.maxHold, minHold, this.autoRenew, this.name,
				this.namespace, this.forCode, this.optional, this.note);
	}

	LeaseOptions withAutoRenew(boolean autoRenew) {
		return new LeaseOptions(this.waitTime, this.leaseTime, this.maxHold, this.minHold, autoRenew, this.name,
				this.namespace, this.forCode, this.optional, this.note);
	}

	LeaseOptions withName(String of, String name) {
		RequestChecks.checkName("name" + of, name);
		return new LeaseOptions(this.waitTime, this.leaseTime, this.maxHold, this.minHold, this.autoRenew, name,
				this.namespace, this.forCode, this.optional, this.note);
	}

	LeaseOptions withCode() {
		return new LeaseOptions(this.waitTime, this.leaseTime, this.maxHold, this.minHold, this.autoRenew, this.name,
				this.namespace, true, this.optional, this.note);
	}

	LeaseOptions asOptional() {
		return new LeaseOptions(this.waitTime, this.leaseTime, this.maxHold, this.minHold, this.autoRenew, this.name,
				this.namespace, this.forCode, true, this.note);
	}

	LeaseOptions withNote(String of, String note) {
		RequestChecks.checkNote("note" + of, note);
		return new LeaseOptions(this.waitTime, this.leaseTime, this.maxHold, this.minHold, this.autoRenew, this.name,
				this.namespace, this.forCode, this.optional, note);
	}

	LeaseOptions withNamespace(String of, String namespace) {
		if (this.namespace != null) {
			throw new IllegalStateException(
					SingleLine.of("namespace" + of + " is '" + this.namespace + "' already: set it once"));
		}
		if (namespace == null) {
			throw new IllegalArgumentException("namespace" + SingleLine.of(of)
					+ " is null: give an empty text for none, or throw an exception that says what is missing");
		}
		if (!namespace.isEmpty() && namespace.isBlank()) {
			throw new IllegalArgumentException("namespace" + SingleLine.of(of)
					+ " is blank: give an empty text for none, or throw an exception that says what is missing");
		}
		if (namespace.indexOf(':') >= 0) {
			throw new IllegalArgumentException(SingleLine.of("namespace" + of + " is '" + namespace)
					+ "', which has a colon: a colon ends the namespace, so its keys could be those of another one. "
					+ "Use another character, such as '.'");
		}
		return new LeaseOptions(this.waitTime, this.leaseTime, this.maxHold, this.minHold, this.autoRenew, this.name,
				namespace, this.forCode, this.optional, this.note);
	}

	/** Return a key in the namespace. */
	String inNamespace(String what, String key) {
		boolean apart = this.namespace != null && !this.namespace.isEmpty();
		return RequestChecks.check(what, apart ? this.namespace + ":" + RequestChecks.check(what, key) : key);
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
		return "waitTime=" + (RequestChecks.FOREVER.equals(this.waitTime) ? "forever" : this.waitTime) + ", leaseTime="
				+ this.leaseTime + ", maxHold=" + this.maxHold + ", minHold=" + this.minHold + ", autoRenew="
				+ this.autoRenew + ((this.name != null) ? ", name=" + SingleLine.of(this.name) : "")
				+ ((this.note != null) ? ", note=" + SingleLine.of(this.note) : "");
	}

}
