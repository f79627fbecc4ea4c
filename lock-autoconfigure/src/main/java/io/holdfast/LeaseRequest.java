package io.holdfast;

import java.time.Duration;
import java.util.function.Consumer;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;

/**
 * The part of a request that those for locks and for permits have in common. Immutable;
 * each method returns a new request. The service's defaults fill the gaps.
 *
 * @param <R> the type of the request
 * @since 0.1.0
 */
public abstract class LeaseRequest<R extends LeaseRequest<R>> {

	/** Below this, neither the network's nor the scheduler's jitter is covered. */
	private static final Duration MIN_LEASE = Duration.ofMillis(100);

	static final Duration MAX_LEASE = Duration.ofDays(365);

	/** Characters of a note. */
	private static final int MAX_NOTE = 200;

	private static final int MAX_KEY = 1024;

	final LeaseOptions options;

	LeaseRequest(LeaseOptions options) {
		this.options = options;
	}

	abstract R with(LeaseOptions changed);

	/** Return whose options these are, for messages. */
	abstract String of();

	private R changed(Consumer<LeaseOptions> change) {
		LeaseOptions copy = this.options.copy();
		change.accept(copy);
		return with(copy);
	}

	/**
	 * Return the same request for one other key.
	 * @param key the key
	 * @return the request, as this one otherwise
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	public abstract R only(String key);

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
		if (waitTime.isNegative()) {
			throw new IllegalArgumentException(SingleLine.of("waitTime" + of()) + " is negative: " + waitTime
					+ "; use zero to try once, or waitForever()");
		}
		return changed((options) -> options.waitTime = (waitTime.compareTo(LeaseOptions.FOREVER) < 0) ? waitTime
				: LeaseOptions.FOREVER);
	}

	/**
	 * Wait without limit.
	 * @return the changed request
	 */
	public R waitForever() {
		return waitTime(LeaseOptions.FOREVER);
	}

	/**
	 * Set how long the lease lasts when it is not renewed: the time that others wait at
	 * most if its holder dies.
	 * @param leaseTime from 100 ms to 365 days
	 * @return the changed request
	 * @throws IllegalArgumentException if it is out of these bounds
	 */
	public R leaseTime(Duration leaseTime) {
		checkBounds("leaseTime" + of(), leaseTime, MIN_LEASE, MAX_LEASE);
		return changed((options) -> options.leaseTime = leaseTime);
	}

	/**
	 * Set whether the lease is renewed while it is held.
	 * @param autoRenew {@code true} (the default) to renew it until its release,
	 * {@code false} to let it end after its lease time
	 * @return the changed request
	 */
	public R autoRenew(boolean autoRenew) {
		return changed((options) -> options.autoRenew = autoRenew);
	}

	/**
	 * Set how long a renewed lease may be held in all: then its renewal stops and the
	 * lease ends with the rest of its lease time; a longer default lease time is
	 * shortened to it. A guard against holders that hang.
	 * @param maxHold the longest time, from 100 ms to 73 years
	 * @return the changed request
	 * @throws IllegalArgumentException if it is out of these bounds
	 */
	public R maxHold(Duration maxHold) {
		checkBounds("maxHold" + of(), maxHold, MIN_LEASE, LeaseOptions.FOREVER);
		return changed((options) -> options.maxHold = maxHold);
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
		if (name == null || name.isBlank()) {
			throw new IllegalArgumentException(SingleLine.of("name" + of()) + " is "
					+ ((name == null) ? "null" : "blank") + ": name what it is for, or leave it out");
		}
		return changed((options) -> options.name = name);
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
		if (note == null || note.isBlank() || note.length() > MAX_NOTE) {
			throw new IllegalArgumentException(SingleLine.of("note" + of()) + " is "
					+ ((note == null) ? "null" : note.isBlank() ? "blank" : "of " + note.length() + " characters")
					+ ": write a text of up to " + MAX_NOTE + " characters, or leave it out");
		}
		return changed((options) -> options.note = note);
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
		return changed((options) -> options.forCode = true);
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
		return changed((options) -> options.optional = true);
	}

	/**
	 * Return how long to wait.
	 * @return the longest wait, or {@code null} for the service's default
	 */
	public @Nullable Duration waitTime() {
		return this.options.waitTime;
	}

	/**
	 * Return how long the lease lasts when it is not renewed.
	 * @return the lease time, or {@code null} for the service's default
	 */
	public @Nullable Duration leaseTime() {
		return this.options.leaseTime;
	}

	/**
	 * Return how long a renewed lease may be held in all.
	 * @return the longest time, or {@code null} for the service's default
	 */
	public @Nullable Duration maxHold() {
		return this.options.maxHold;
	}

	/**
	 * Return whether the lease is renewed while it is held.
	 * @return whether it is
	 */
	public boolean isAutoRenew() {
		return this.options.autoRenew;
	}

	/**
	 * Return how long others are kept out, or permits are kept back, at least.
	 * @return the shortest time, zero by default
	 */
	public Duration minHold() {
		return this.options.minHold;
	}

	/**
	 * Return whether code runs under the lease until its release.
	 * @return whether it does
	 */
	public boolean isForCode() {
		return this.options.forCode;
	}

	/**
	 * Return whether the caller goes on without the lease if others have it.
	 * @return whether it does
	 */
	public boolean isOptional() {
		return this.options.optional;
	}

	/**
	 * Return the name of the lock or semaphore.
	 * @return the name, or {@code null}
	 */
	public @Nullable String name() {
		return this.options.name;
	}

	/**
	 * Return the note that is shown with the holder.
	 * @return the note, or {@code null}
	 */
	public @Nullable String note() {
		return this.options.note;
	}

	/**
	 * Return the namespace of the keys.
	 * @return the namespace, empty for none, or {@code null} for the application's, which
	 * the keys do not have yet
	 */
	public @Nullable String namespace() {
		return this.options.namespace;
	}

	R withMinHold(Duration minHold) {
		checkBounds("minHold" + of(), minHold, Duration.ZERO, MAX_LEASE);
		return changed((options) -> options.minHold = minHold);
	}

	LeaseOptions withNamespace(String namespace) {
		if (this.options.namespace != null) {
			throw new IllegalStateException(
					SingleLine.of("namespace" + of() + " is '" + this.options.namespace + "' already: set it once"));
		}
		if (namespace == null || !namespace.isEmpty() && namespace.isBlank()) {
			throw new IllegalArgumentException(
					"namespace" + SingleLine.of(of()) + " is " + ((namespace == null) ? "null" : "blank")
							+ ": give an empty text for none, or throw an exception that says what is missing");
		}
		if (namespace.indexOf(':') >= 0) {
			throw new IllegalArgumentException(SingleLine.of("namespace" + of() + " is '" + namespace)
					+ "', which has a colon: a colon ends the namespace, so its keys could be those of another one. "
					+ "Use another character, such as '.'");
		}
		LeaseOptions copy = this.options.copy();
		copy.namespace = namespace;
		return copy;
	}

	/** Return a key in the namespace of these options, checked. */
	static String inNamespace(LeaseOptions options, String what, String key) {
		boolean apart = options.namespace != null && !options.namespace.isEmpty();
		return checkKey(what, apart ? options.namespace + ":" + checkKey(what, key) : key);
	}

	static String checkKey(String what, String key) {
		if (key == null || key.isBlank()) {
			throw new IllegalArgumentException("A " + what + "'s key must not be " + ((key == null) ? "null" : "blank")
					+ ": name what it is for, for example 'stock:SKU0001'");
		}
		if (key.length() > MAX_KEY) {
			throw new IllegalArgumentException(
					"The " + what + "'s key that starts with '" + SingleLine.of(key.substring(0, 40)) + "' has "
							+ key.length() + " characters, more than " + MAX_KEY + ": use a shorter name or a digest");
		}
		for (int i = 0; i < key.length(); i++) {
			if (Character.isSurrogate(key.charAt(i)) && key.codePointAt(i) == key.charAt(i)
					&& (i == 0 || !Character.isHighSurrogate(key.charAt(i - 1)))) {
				throw new IllegalArgumentException("The " + what + "'s key has half of a surrogate pair at position "
						+ i + ", which is no character: remove it");
			}
			if (Character.isISOControl(key.charAt(i))) {
				throw new IllegalArgumentException("The " + what + "'s key has a control character (code "
						+ (int) key.charAt(i) + ") at position " + i + ": remove it");
			}
		}
		return key;
	}

	/** Refuse a time or a number that is out of its bounds. */
	static <T extends Comparable<T>> void checkBounds(String what, T value, T min, T max) {
		if (value.compareTo(min) < 0 || value.compareTo(max) > 0) {
			throw new IllegalArgumentException(
					SingleLine.of(what) + " is " + value + ", which is not from " + min + " to " + max);
		}
	}

}
