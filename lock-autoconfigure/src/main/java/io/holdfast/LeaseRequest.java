package io.holdfast;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * The part of a request that those for locks and for permits have in common. Immutable;
 * each method returns a new request. The service's defaults fill the gaps.
 *
 * @param <R> the type of the request
 * @since 0.1.0
 */
public abstract class LeaseRequest<R extends LeaseRequest<R>> {

	final LeaseOptions options;

	LeaseRequest(LeaseOptions options) {
		this.options = options;
	}

	abstract R with(LeaseOptions changed);

	/** Return whose options these are, for messages. */
	abstract String of();

	/**
	 * Set the namespace of the keys, in place of the {@linkplain KeyNamespace
	 * application's}: for threads that know nothing of that, and for keys that all
	 * namespaces share.
	 * @param namespace the text before each key and a colon, itself without a colon;
	 * empty for none
	 * @return the changed request, which has whole keys
	 * @throws IllegalArgumentException if a key is not allowed in it
	 * @throws IllegalStateException if it has a namespace already
	 */
	public abstract R namespace(String namespace);

	/**
	 * Set how long to wait. If nothing is said, calls that {@code try} do not wait. All
	 * others wait for {@code holdfast.lock.wait-time}, 10 s by default, or for
	 * {@code holdfast.semaphore.wait-time}, 0 by default.
	 * @param waitTime the longest wait; zero tries once
	 * @return the changed request
	 * @throws IllegalArgumentException if it is negative
	 */
	public R waitTime(Duration waitTime) {
		return with(this.options.withWaitTime(of(), waitTime));
	}

	/**
	 * Wait without limit.
	 * @return the changed request
	 */
	public R waitForever() {
		return waitTime(RequestChecks.FOREVER);
	}

	/**
	 * Set how long the lease lasts when it is not renewed: the time that others wait at
	 * most if its holder dies.
	 * @param leaseTime from 100 ms to 365 days
	 * @return the changed request
	 * @throws IllegalArgumentException if it is out of these bounds
	 */
	public R leaseTime(Duration leaseTime) {
		return with(this.options.withLeaseTime(of(), leaseTime));
	}

	/**
	 * Set whether the lease is renewed while it is held.
	 * @param autoRenew {@code true} (the default) to renew it until its release,
	 * {@code false} to let it end after its lease time
	 * @return the changed request
	 */
	public R autoRenew(boolean autoRenew) {
		return with(this.options.withAutoRenew(autoRenew));
	}

	/**
	 * Set how long a renewed lease may be held in all: then its renewal stops and the
	 * lease ends with the rest of its lease time; a longer default lease time is
	 * shortened to it. A guard against holders that hang.
	 * @param maxHold the longest time, at least 100 ms
	 * @return the changed request
	 * @throws IllegalArgumentException if it is too short
	 */
	public R maxHold(Duration maxHold) {
		return with(this.options.withMaxHold(of(), maxHold));
	}

	/**
	 * Set how long others are kept out, or permits are kept back, at least.
	 * @param minHold the shortest time, from 0 (the default) to 365 days
	 * @return the changed request
	 * @throws IllegalArgumentException if it is out of these bounds
	 */
	public abstract R minHold(Duration minHold);

	/**
	 * Set the kind of thing that is requested, for {@linkplain LeaseLostEvent events} and
	 * meters: one of few names, unlike the key.
	 * @param name the name, not blank
	 * @return the changed request
	 * @throws IllegalArgumentException if it is blank
	 */
	public R name(String name) {
		return with(this.options.withName(of(), name));
	}

	/**
	 * Set a note that is shown with the holder: {@link LockStatus#note()}, the Actuator
	 * endpoints and the console show it, such as {@code anna edits}. This instance keeps
	 * it, and is asked for it. A nested lease changes nothing: the note of the first
	 * lease is shown.
	 * @param note the text, of 1 to 200 characters. A {@code ?} is shown for control
	 * characters, separators of lines and changes of direction
	 * @return the changed request
	 * @throws IllegalArgumentException if it is blank or too long
	 */
	public R note(String note) {
		return with(this.options.withNote(of(), note));
	}

	/**
	 * Say that code runs under the lease until its release. Annotated methods,
	 * {@code withLock}, {@code withPermits} and their like say so by themselves. If a
	 * shut-down does not wait until the code has ended, the lease is lost, but others are
	 * kept out until its lease time is over. Other leases are released then, as nothing
	 * tells whether they are used. The changed request is equal to this one.
	 * @return the changed request
	 */
	public R forCode() {
		return with(this.options.withCode());
	}

	/**
	 * Say that the caller goes on without the lease if others have it. Annotated methods
	 * with {@code SKIP}, and calls that {@code try} and do not wait, say so by
	 * themselves. Meters count the refusal of such a request as {@code skipped}, in place
	 * of {@code timed_out}, and a line at the level DEBUG names the holder. The changed
	 * request is equal to this one.
	 * @return the changed request
	 */
	public R optional() {
		return with(this.options.asOptional());
	}

	/**
	 * Return how long to wait.
	 * @return the longest wait, or {@code null} for the service's default
	 */
	public @Nullable Duration waitTime() {
		return this.options.waitTime();
	}

	/**
	 * Return how long the lease lasts when it is not renewed.
	 * @return the lease time, or {@code null} for the service's default
	 */
	public @Nullable Duration leaseTime() {
		return this.options.leaseTime();
	}

	/**
	 * Return how long a renewed lease may be held in all.
	 * @return the longest time, or {@code null} for the service's default
	 */
	public @Nullable Duration maxHold() {
		return this.options.maxHold();
	}

	/**
	 * Return whether the lease is renewed while it is held.
	 * @return whether it is
	 */
	public boolean isAutoRenew() {
		return this.options.autoRenew();
	}

	/**
	 * Return how long others are kept out, or permits are kept back, at least.
	 * @return the shortest time, zero by default
	 */
	public Duration minHold() {
		return this.options.minHold();
	}

	/**
	 * Return whether code runs under the lease until its release.
	 * @return whether it does
	 */
	public boolean isForCode() {
		return this.options.forCode();
	}

	/**
	 * Return whether the caller goes on without the lease if others have it.
	 * @return whether it does
	 */
	public boolean isOptional() {
		return this.options.optional();
	}

	/**
	 * Return the name of the lock or semaphore.
	 * @return the name, or {@code null}
	 */
	public @Nullable String name() {
		return this.options.name();
	}

	/**
	 * Return the note that is shown with the holder.
	 * @return the note, or {@code null}
	 */
	public @Nullable String note() {
		return this.options.note();
	}

	/**
	 * Return the namespace of the keys.
	 * @return the namespace, empty for none, or {@code null} for the application's, which
	 * the keys do not have yet
	 */
	public @Nullable String namespace() {
		return this.options.namespace();
	}

}
