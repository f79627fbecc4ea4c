package io.holdfast;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;

/**
 * A request for locks or permits. Immutable: each setter returns a new request. The
 * service's defaults apply to options that are not set. A setter throws an
 * {@link IllegalArgumentException} if its value and the options set before exclude each
 * other, such as a {@code minHold} above the {@code maxHold}.
 *
 * @param <R> the type of the request
 * @since 0.1.0
 */
public abstract class LeaseRequest<R extends LeaseRequest<R>> {

	/**
	 * Minimum lease time: a shorter one would not cover the jitter of network and
	 * scheduler.
	 */
	private static final Duration MIN_LEASE = Duration.ofMillis(100);

	static final Duration MAX_LEASE = Duration.ofDays(365);

	/** Maximum length of a note, in characters. */
	private static final int MAX_NOTE = 200;

	private static final int MAX_KEY = 1024;

	final List<String> keys;

	final LeaseOptions options;

	LeaseRequest(List<String> keys, LeaseOptions options) {
		this.keys = keys;
		this.options = options;
	}

	abstract R with(List<String> keys, LeaseOptions options);

	/** Return the kind of resource for messages: {@code lock} or {@code semaphore}. */
	abstract String kind();

	/** Return the owner of an option for messages. */
	String ofText() {
		return " of " + kind() + " '" + key() + "'";
	}

	R changed(Consumer<LeaseOptions> change) {
		LeaseOptions copy = this.options.copy();
		change.accept(copy);
		checkTimes(copy);
		return with(this.keys, copy);
	}

	/** Refuse times that exclude each other. */
	private void checkTimes(LeaseOptions times) {
		if (times.maxHold != null && !times.autoRenew) {
			throw refused("maxHold", times.maxHold,
					"has no effect, because autoRenew is false: leave one of them out, as there is no renewal to stop");
		}
		if (times.maxHold != null && isLonger(times.leaseTime, times.maxHold)) {
			throw refused("maxHold", times.maxHold, "is shorter than leaseTime (" + times.leaseTime
					+ "), for which the lease lasts without any renewal: lower leaseTime, or raise maxHold");
		}
		if (isLonger(times.minHold, times.maxHold)) {
			throw refused("minHold", times.minHold,
					"is longer than maxHold (" + times.maxHold + "): lower minHold, or raise maxHold");
		}
		if (!times.autoRenew && isLonger(times.minHold, times.leaseTime)) {
			throw refused("minHold", times.minHold, "is longer than leaseTime (" + times.leaseTime
					+ "), with which the lease ends, because autoRenew is false: lower minHold, or raise leaseTime");
		}
	}

	private static boolean isLonger(@Nullable Duration time, @Nullable Duration bound) {
		return time != null && bound != null && time.compareTo(bound) > 0;
	}

	/** Return the exception for a time. Messages of annotations have the same reason. */
	private IllegalArgumentException refused(String what, Duration time, String reason) {
		return new IllegalArgumentException(SingleLine.of(what + ofText()) + " is " + time + ", which " + reason);
	}

	/**
	 * Return this request with another key in place of its keys.
	 * @param key the key
	 * @return the changed request
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	public R only(String key) {
		return with(List.of(inNamespace(key)), this.options);
	}

	/**
	 * Set the namespace of the keys, in place of the {@linkplain KeyNamespace
	 * application's namespace}. For threads that do not know the application's namespace,
	 * and for keys that all namespaces share.
	 * @param namespace the namespace, without a colon; empty for none. Each key is
	 * prefixed with the namespace and a colon
	 * @return the changed request, whose keys have the prefix
	 * @throws IllegalArgumentException if the namespace has a colon or is blank, or if a
	 * key is not allowed with its prefix
	 * @throws IllegalStateException if the request has a namespace already
	 */
	public R namespace(String namespace) {
		if (this.options.namespace != null) {
			throw new IllegalStateException(SingleLine
				.of("namespace" + ofText() + " is '" + this.options.namespace + "' already: set it once"));
		}
		if (namespace == null || !namespace.isEmpty() && namespace.isBlank()) {
			throw new IllegalArgumentException(
					"namespace" + SingleLine.of(ofText()) + " is " + ((namespace == null) ? "null" : "blank")
							+ ": give an empty text for none, or throw an exception with the reason");
		}
		if (namespace.indexOf(':') >= 0) {
			throw new IllegalArgumentException(SingleLine.of("namespace" + ofText() + " is '" + namespace)
					+ "', which has a colon: a colon ends the namespace, so its keys could be those of another one. "
					+ "Use another character, such as '.'");
		}
		R changed = changed((options) -> options.namespace = namespace);
		return changed.with(this.keys.stream().map(changed::inNamespace).toList(), changed.options);
	}

	/**
	 * Set the wait time. Without a wait time, the {@code try} methods do not wait, and
	 * {@linkplain LockView views} wait without limit. All other methods then wait for
	 * {@code holdfast.lock.wait-time}, 10 s by default, or for
	 * {@code holdfast.semaphore.wait-time}, 0 by default.
	 * @param waitTime the maximum wait; zero tries once
	 * @return the changed request
	 * @throws IllegalArgumentException if the wait time is negative
	 */
	public R waitTime(Duration waitTime) {
		if (waitTime.isNegative()) {
			throw new IllegalArgumentException(SingleLine.of("waitTime" + ofText()) + " is negative: " + waitTime
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
	 * Set the duration of the lease without renewal. If the holder dies, waiters wait for
	 * this time at most.
	 * @param leaseTime the lease time, from 100 ms to 365 days
	 * @return the changed request
	 * @throws IllegalArgumentException if the lease time is out of these bounds
	 */
	public R leaseTime(Duration leaseTime) {
		checkBounds("leaseTime" + ofText(), leaseTime, MIN_LEASE, MAX_LEASE);
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
	 * Set the maximum time of a renewed lease, as a guard against holders that hang.
	 * After this time the lease is not renewed any more, and ends with the rest of its
	 * lease time. A longer default lease time is shortened to {@code maxHold}.
	 * @param maxHold the maximum time, from 100 ms to 73 years
	 * @return the changed request
	 * @throws IllegalArgumentException if the time is out of these bounds
	 */
	public R maxHold(Duration maxHold) {
		checkBounds("maxHold" + ofText(), maxHold, MIN_LEASE, LeaseOptions.FOREVER);
		return changed((options) -> options.maxHold = maxHold);
	}

	/**
	 * Set the minimum time before a release takes effect, from the grant on.
	 * @param minHold the minimum time, from 0 (the default) to 365 days
	 * @return the changed request
	 * @throws IllegalArgumentException if the time is out of these bounds
	 */
	public R minHold(Duration minHold) {
		checkBounds("minHold" + ofText(), minHold, Duration.ZERO, MAX_LEASE);
		return changed((options) -> options.minHold = minHold);
	}

	/**
	 * Set the name of the lock or semaphore in {@linkplain LeaseLostEvent events} and
	 * meters. Meters have a tag for each name: use few names, unlike keys.
	 * @param name the name, not blank
	 * @return the changed request
	 * @throws IllegalArgumentException if the name is {@code null} or blank
	 */
	public R name(String name) {
		if (name == null || name.isBlank()) {
			throw new IllegalArgumentException(SingleLine.of("name" + ofText()) + " is "
					+ ((name == null) ? "null" : "blank") + ": name its purpose, or leave it out");
		}
		return changed((options) -> options.name = name);
	}

	/**
	 * Set a note, such as {@code anna edits}, which {@link LockStatus#note()}, the
	 * Actuator endpoints and the console show with the holder. The note is kept in this
	 * instance, not in the store; other instances ask this instance for it. The note of a
	 * nested lease is ignored: the outer lease's note is shown.
	 * @param note the note, of 1 to 200 characters, not blank. Control characters, line
	 * separators and changes of text direction are shown as {@code ?}
	 * @return the changed request
	 * @throws IllegalArgumentException if the note is {@code null}, blank or too long
	 */
	public R note(String note) {
		if (note == null || note.isBlank() || note.length() > MAX_NOTE) {
			throw new IllegalArgumentException(SingleLine.of("note" + ofText()) + " is "
					+ ((note == null) ? "null" : note.isBlank() ? "blank" : "of " + note.length() + " characters")
					+ ": write a text of up to " + MAX_NOTE + " characters, or leave it out");
		}
		return changed((options) -> options.note = note);
	}

	/**
	 * Declare that code runs under the lease until its release. Annotated methods,
	 * {@code withLock}, {@code withPermits} and their variants declare this themselves.
	 * If a shutdown does not wait for the end of the code, the lease is lost, but stays
	 * in the store until its lease time is over, so that no other owner runs together
	 * with the code. A shutdown releases all other leases, because it cannot tell whether
	 * they are in use. The changed request is equal to this request.
	 * @return the changed request
	 */
	public R forCode() {
		return changed((options) -> options.forCode = true);
	}

	/**
	 * Declare that the caller goes on without the lease if it is not granted. Annotated
	 * methods with {@code SKIP}, and {@code try} methods without a wait, declare this
	 * themselves. Meters count a refusal of the request as {@code skipped} instead of
	 * {@code timed_out}, and the holder is logged at the level DEBUG. The changed request
	 * is equal to this request.
	 * @return the changed request
	 */
	public R optional() {
		return changed((options) -> options.optional = true);
	}

	/**
	 * Return the key.
	 * @return the key; for several keys of locks, a text for messages that lists the
	 * first five
	 */
	public abstract String key();

	/**
	 * Return the wait time.
	 * @return the maximum wait, or {@code null} for the service's default
	 */
	public @Nullable Duration waitTime() {
		return this.options.waitTime;
	}

	/**
	 * Return the duration of the lease without renewal.
	 * @return the lease time, or {@code null} for the service's default
	 */
	public @Nullable Duration leaseTime() {
		return this.options.leaseTime;
	}

	/**
	 * Return the maximum time of a renewed lease.
	 * @return the maximum time, or {@code null} for the service's default
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
	 * Return the minimum time before a release takes effect.
	 * @return the minimum time, zero by default
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
	 * Return whether the caller goes on without the lease if it is not granted.
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
	 * @return the namespace, empty for none, or {@code null} if the keys do not have the
	 * application's namespace yet
	 */
	public @Nullable String namespace() {
		return this.options.namespace;
	}

	/** Return a key with the namespace in front, if the request has one. */
	String inNamespace(String key) {
		String namespace = this.options.namespace;
		boolean prefixed = namespace != null && !namespace.isEmpty();
		return checkKey(kind(), prefixed ? namespace + ":" + checkKey(kind(), key) : key);
	}

	static String checkKey(String what, String key) {
		if (key == null || key.isBlank()) {
			throw new IllegalArgumentException("A " + what + "'s key must not be " + ((key == null) ? "null" : "blank")
					+ ": name its purpose, for example 'stock:SKU0001'");
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

	@Override
	public boolean equals(@Nullable Object other) {
		return other instanceof LeaseRequest<?> that && getClass() == that.getClass() && this.keys.equals(that.keys)
				&& this.options.equals(that.options);
	}

	@Override
	public int hashCode() {
		return Objects.hash(this.keys, this.options);
	}

}
