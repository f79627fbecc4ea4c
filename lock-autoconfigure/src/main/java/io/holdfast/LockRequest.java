package io.holdfast;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.TreeSet;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;

/**
 * A request to a {@link LockService}. Immutable; each method returns a new request. What
 * is not said is taken from the service's defaults.
 *
 * @since 0.1.0
 */
public final class LockRequest extends LeaseRequest<LockRequest> {

	private static final int MAX_KEYS = 1000;

	private final List<String> keys;

	private final LockMode mode;

	private final boolean reentrant;

	private final @Nullable LeaseContext context;

	private LockRequest(List<String> keys, LockMode mode, LeaseOptions options, boolean reentrant,
			@Nullable LeaseContext context) {
		super(options);
		this.keys = keys;
		this.mode = mode;
		this.reentrant = reentrant;
		this.context = context;
	}

	/**
	 * A request for a key, with the service's defaults.
	 * @param key what to lock; not blank, without control characters
	 * @return the request
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	public static LockRequest of(String key) {
		return new LockRequest(List.of(RequestChecks.check("lock", key)), LockMode.EXCLUSIVE, LeaseOptions.DEFAULTS,
				true, null);
	}

	/**
	 * A request for several keys, with the service's defaults: all or none of them,
	 * within one wait time, as one lease. They are acquired in the order of their texts,
	 * the same everywhere, so that those who ask for several keys at once never wait for
	 * each other in a circle.
	 * @param keys what to lock, from 1 to 1,000 keys; each counts once
	 * @return the request
	 * @throws IllegalArgumentException if there is no key, or a key is not allowed
	 */
	public static LockRequest ofAll(Collection<String> keys) {
		TreeSet<String> ordered = new TreeSet<>();
		for (String key : keys) {
			ordered.add(RequestChecks.check("lock", key));
		}
		RequestChecks.checkCount("The number of keys to lock together", ordered.size(), 1, MAX_KEYS);
		return new LockRequest(List.copyOf(ordered), LockMode.EXCLUSIVE, LeaseOptions.DEFAULTS, true, null);
	}

	/**
	 * The request for one of several keys.
	 * @param key the key
	 * @return the request, as this one otherwise
	 */
	public LockRequest only(String key) {
		return new LockRequest(List.of(this.options.inNamespace("lock", key)), this.mode, this.options, this.reentrant,
				this.context);
	}

	@Override
	public LockRequest namespace(String namespace) {
		LeaseOptions changed = this.options.withNamespace(of(), namespace);
		return new LockRequest(this.keys.stream().map((key) -> changed.inNamespace("lock", key)).toList(), this.mode,
				changed, this.reentrant, this.context);
	}

	@Override
	LockRequest with(LeaseOptions changed) {
		return new LockRequest(this.keys, this.mode, changed, this.reentrant, this.context);
	}

	@Override
	String of() {
		return " of lock '" + key() + "'";
	}

	/**
	 * Set whether to lock alone, or as a reader or writer. All that lock a key should
	 * agree on either {@link LockMode#EXCLUSIVE EXCLUSIVE} or the other two.
	 * @param mode the mode; {@link LockMode#EXCLUSIVE EXCLUSIVE} by default
	 * @return the changed request
	 */
	public LockRequest mode(LockMode mode) {
		return new LockRequest(this.keys, mode, this.options, this.reentrant, this.context);
	}

	/**
	 * Set whether a thread that holds the key already gets a nested lease at once. The
	 * key is held until all of them are released, and renewed by the longest lease time
	 * and {@code maxHold} of those that are open.
	 * @param reentrant {@code true} (the default) for a nested lease, {@code false} to
	 * wait like a stranger
	 * @return the changed request
	 */
	public LockRequest reentrant(boolean reentrant) {
		return new LockRequest(this.keys, this.mode, this.options, reentrant, this.context);
	}

	/**
	 * Set how long others are kept out at least, even if the lease is released sooner:
	 * for jobs that may end so quickly that another instance, whose clock is late, would
	 * run them once more. No caller waits for that time to pass; the release only takes
	 * effect when it is over. It does not count for code of {@code withLock} and its like
	 * that fails, or whose transaction is rolled back while it keeps the lock, nor if it
	 * is {@linkplain LockLease#waiveMinHold() waived}. A nested lease has no such time.
	 * @param minHold the shortest time, from 0 (the default) to 365 days
	 * @return the changed request
	 * @throws IllegalArgumentException if it is out of these bounds
	 */
	@Override
	public LockRequest minHold(Duration minHold) {
		return with(this.options.withMinHold(of(), minHold));
	}

	/**
	 * Set whether waiters for an exclusive lock in the same instance are served in their
	 * order. If not, and with local hand-over, others may have what was released there
	 * while a blocked thread that is next wakes up to go on with it, as with Java's own
	 * locks that are not fair: a request that arrives in the instance and is not fair
	 * either, for 1 ms at most for each thread that is woken up, and only as long as the
	 * turn of the instance lasts. So no waiter of another instance is passed more often
	 * than by local hand-over. No request passes one for several keys.
	 * <p>
	 * It is much faster where many threads want one key for a very short time, and makes
	 * no difference where the lock is held for longer than a thread takes to wake up. It
	 * has no effect on readers and writers, and in strict order.
	 * @param fair {@code true} (the default) to be served in that order; {@code false} to
	 * go before the threads of others that are not fair, and to let them go before this
	 * one's
	 * @return the changed request
	 */
	@Override
	public LockRequest fair(boolean fair) {
		return with(this.options.withFair(fair));
	}

	/**
	 * Ask within a context: if it has a lease of the key that is still held, a nested
	 * lease of that is granted at once. Calls that block ask within the context of their
	 * thread if nothing else is said; asynchronous ones within none.
	 * @param context the context
	 * @return the changed request
	 */
	public LockRequest within(LeaseContext context) {
		return new LockRequest(this.keys, this.mode, this.options, this.reentrant, context);
	}

	/**
	 * Ask within the current context and that of the transaction, as calls do not by
	 * themselves.
	 */
	LockRequest withinCurrent() {
		LeaseContext current = LeasedCalls.currentContext();
		return (this.context != null || current.leases().isEmpty()) ? this : within(current);
	}

	/**
	 * Return what to lock.
	 * @return the key; of several, all of them in one text for messages
	 */
	public String key() {
		return (this.keys.size() == 1) ? this.keys.get(0) : RequestChecks.join(this.keys);
	}

	/**
	 * Return what to lock: one key or several.
	 * @return the keys in their order, each once
	 */
	public List<String> keys() {
		return this.keys;
	}

	/**
	 * Return how to lock it.
	 * @return the mode
	 */
	public LockMode mode() {
		return this.mode;
	}

	/**
	 * Return whether a thread that holds the key already gets a nested lease at once.
	 * @return whether it does
	 */
	public boolean isReentrant() {
		return this.reentrant;
	}

	/**
	 * Within what to ask.
	 * @return the context, or {@code null} if nothing is said
	 */
	public @Nullable LeaseContext context() {
		return this.context;
	}

	@Override
	public boolean equals(@Nullable Object other) {
		return other instanceof LockRequest that && this.keys.equals(that.keys) && this.mode == that.mode
				&& this.options.equals(that.options) && this.reentrant == that.reentrant
				&& this.context == that.context;
	}

	@Override
	public int hashCode() {
		return Objects.hash(this.keys, this.mode, this.options, this.reentrant);
	}

	@Override
	public String toString() {
		return "LockRequest[" + SingleLine.of(key()) + ", mode=" + this.mode + ", " + this.options + ", reentrant="
				+ this.reentrant + "]";
	}

}
