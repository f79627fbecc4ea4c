package io.holdfast;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.TreeSet;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;

/**
 * A request to a {@link LockService}. Immutable; each method returns a new request. The
 * service's defaults fill the gaps.
 *
 * @since 0.1.0
 */
public final class LockRequest extends LeaseRequest<LockRequest> {

	private static final int MAX_KEYS = 1000;

	private final List<String> keys;

	private final LockMode mode;

	private final boolean reentrant;

	private final @Nullable LeaseContext context;

	private final Fence fence;

	private final @Nullable Duration lossMargin;

	private LockRequest(List<String> keys, LockMode mode, LeaseOptions options, boolean reentrant,
			@Nullable LeaseContext context, Fence fence, @Nullable Duration lossMargin) {
		super(options);
		if (fence != Fence.NONE && mode == LockMode.READ) {
			throw new IllegalArgumentException(SingleLine.of("The lock '" + join(keys) + "' is fenced and of mode READ")
					+ ": readers change nothing, so leave out one of the two");
		}
		Duration leaseTime = options.leaseTime;
		if (lossMargin != null && leaseTime != null && lossMargin.multipliedBy(3).compareTo(leaseTime) > 0) {
			throw new IllegalArgumentException(SingleLine.of("lossMargin of lock '" + join(keys) + "' is " + lossMargin)
					+ ", more than a third of its leaseTime of " + leaseTime + ": lower the one, or raise the other");
		}
		this.keys = keys;
		this.mode = mode;
		this.reentrant = reentrant;
		this.context = context;
		this.fence = fence;
		this.lossMargin = lossMargin;
	}

	/**
	 * A request for a key, with the service's defaults.
	 * @param key the key to lock; not blank, without control characters
	 * @return the request
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	public static LockRequest of(String key) {
		return new LockRequest(List.of(checkKey("lock", key)), LockMode.EXCLUSIVE, LeaseOptions.DEFAULTS, true, null,
				Fence.NONE, null);
	}

	/**
	 * A request for several keys, with the service's defaults: all or none of them,
	 * within one wait time, as one lease. They are acquired in the order of their texts,
	 * the same everywhere, so that requests for several keys at once never wait for each
	 * other in a circle.
	 * @param keys from 1 to 1,000 keys; each counts once
	 * @return the request
	 * @throws IllegalArgumentException if there is no key, or a key is not allowed
	 */
	public static LockRequest ofAll(Collection<String> keys) {
		return new LockRequest(List.of(), LockMode.EXCLUSIVE, LeaseOptions.DEFAULTS, true, null, Fence.NONE, null)
			.only(keys);
	}

	@Override
	public LockRequest only(String key) {
		return new LockRequest(List.of(inNamespace(this.options, "lock", key)), this.mode, this.options, this.reentrant,
				this.context, this.fence, this.lossMargin);
	}

	/**
	 * The request for other keys.
	 * @param keys from 1 to 1,000 keys; each counts once
	 * @return the request, as this one otherwise
	 * @throws IllegalArgumentException if there is no key, or a key is not allowed
	 */
	public LockRequest only(Collection<String> keys) {
		TreeSet<String> ordered = new TreeSet<>();
		for (String key : keys) {
			ordered.add(inNamespace(this.options, "lock", key));
		}
		checkBounds("The number of keys to lock together", ordered.size(), 1, MAX_KEYS);
		return new LockRequest(List.copyOf(ordered), this.mode, this.options, this.reentrant, this.context, this.fence,
				this.lossMargin);
	}

	@Override
	public LockRequest namespace(String namespace) {
		LeaseOptions changed = withNamespace(namespace);
		return new LockRequest(this.keys.stream().map((key) -> inNamespace(changed, "lock", key)).toList(), this.mode,
				changed, this.reentrant, this.context, this.fence, this.lossMargin);
	}

	@Override
	LockRequest with(LeaseOptions changed) {
		return new LockRequest(this.keys, this.mode, changed, this.reentrant, this.context, this.fence,
				this.lossMargin);
	}

	@Override
	String of() {
		return " of lock '" + key() + "'";
	}

	/**
	 * Set whether to lock alone, or together with other readers.
	 * @param mode the mode; {@link LockMode#EXCLUSIVE EXCLUSIVE} by default
	 * @return the changed request
	 * @throws IllegalArgumentException if a lock to read is fenced
	 * @throws NullPointerException if it is null
	 */
	public LockRequest mode(LockMode mode) {
		// Without a mode it would be a lock to read.
		Objects.requireNonNull(mode, "mode");
		return new LockRequest(this.keys, mode, this.options, this.reentrant, this.context, this.fence,
				this.lossMargin);
	}

	/**
	 * Set whether a thread that holds the key already gets a nested lease at once. The
	 * key is held until all of them are released, and renewed by the longest lease time
	 * and {@code maxHold} of the open ones.
	 * <p>
	 * A thread that asks without re-entry does not wait for itself: where its own lease
	 * is in the way, a request that would wait is refused at once, for the reason
	 * {@link NotAcquiredException.Reason#SELF_BLOCKED SELF_BLOCKED}. A request that does
	 * not wait finds the key held. An asynchronous request has no thread, and waits.
	 * @param reentrant {@code true} (the default) for a nested lease, {@code false} for a
	 * lease of its own
	 * @return the changed request
	 */
	public LockRequest reentrant(boolean reentrant) {
		return new LockRequest(this.keys, this.mode, this.options, reentrant, this.context, this.fence,
				this.lossMargin);
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
		return withMinHold(minHold);
	}

	/**
	 * Set how long before others may have the lock its holder counts as lost. For work
	 * that no fencing token guards: code that looks at {@link LockLease#isHeld()}, or is
	 * interrupted on loss, has that long to stop. It helps if the store is slow or not
	 * reached, not against a pause of the holder that is longer than the margin, nor if
	 * the lock is released by force or the store loses it. The margin comes off each
	 * lease time: {@link LockLease#remaining()} is shorter by it, also after
	 * {@link LockLease#extend(Duration)}, and a lease without renewal ends that much
	 * sooner for its holder. If a nested lease asks for a longer margin than the lease
	 * around it, both have the longer one, from the next renewal on if there is not so
	 * much time left.
	 * @param lossMargin the margin, from 0 to a third of the lease time; by default
	 * {@code holdfast.lock.loss-margin}, which is 0
	 * @return the changed request
	 * @throws IllegalArgumentException if it is negative, or more than a third of the
	 * request's lease time; if it is more than a third of the default lease time, the
	 * acquisition throws it
	 * @throws NullPointerException if it is null
	 */
	public LockRequest lossMargin(Duration lossMargin) {
		checkBounds("lossMargin" + of(), lossMargin, Duration.ZERO, MAX_LEASE.dividedBy(3));
		return new LockRequest(this.keys, this.mode, this.options, this.reentrant, this.context, this.fence,
				lossMargin);
	}

	/**
	 * Ask within a context: if it has a lease of the key that is still held, a nested
	 * lease of that is granted at once. Calls that block ask within the context of their
	 * thread if nothing else is said; asynchronous ones within none.
	 * @param context the context
	 * @return the changed request
	 */
	public LockRequest within(LeaseContext context) {
		return new LockRequest(this.keys, this.mode, this.options, this.reentrant, context, this.fence,
				this.lossMargin);
	}

	/**
	 * Have databases refuse the transactions of a late holder, which goes on although
	 * others have had the lock since. Each new JDBC or JPA transaction under the lease
	 * that may write begins with a check of its fencing token; a refused transaction does
	 * not begin, and its caller gets a {@link LeaseLostException}. Read-only transactions
	 * are not checked: databases refuse their writes, except H2. Within a transaction
	 * above READ COMMITTED that is read-only or of MariaDB or MySQL, the request is
	 * refused with an {@link IllegalStateException}, as that may read data of the time
	 * before the lock. For {@link LockService#withLock(LockRequest, LeasedCall)
	 * withLock}, {@code tryWithLock} and annotated methods, whose code runs on the thread
	 * that asked. Not for readers.
	 * @return the changed request
	 * @throws IllegalArgumentException if the mode is {@link LockMode#READ READ}
	 */
	public LockRequest fenced() {
		return new LockRequest(this.keys, this.mode, this.options, this.reentrant, this.context, Fence.RAISED,
				this.lossMargin);
	}

	/**
	 * Say, as {@link #fenced()} does, that the lock is fenced, and that its code begins
	 * with a transaction that writes to the only fenced database. The token is not raised
	 * there before. Annotated methods say so by themselves where they are transactional.
	 * @return the changed request
	 * @throws IllegalArgumentException if the mode is {@link LockMode#READ READ}
	 */
	public LockRequest fencedByTransaction() {
		return new LockRequest(this.keys, this.mode, this.options, this.reentrant, this.context, Fence.BY_TRANSACTION,
				this.lossMargin);
	}

	/**
	 * Ask within the current context and that of the transaction, as calls do not by
	 * themselves.
	 */
	LockRequest withinCurrent() {
		LeaseContext current = LeasedCalls.currentContext();
		return (this.context != null || current.isEmpty()) ? this : within(current);
	}

	/**
	 * Return the key to lock.
	 * @return the key; of several, all of them in one text for messages
	 */
	public String key() {
		return (this.keys.size() == 1) ? this.keys.get(0) : join(this.keys);
	}

	/**
	 * Return the keys to lock: one or several.
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
	 * Return the context to ask within.
	 * @return the context, or {@code null} if nothing is said
	 */
	public @Nullable LeaseContext context() {
		return this.context;
	}

	/**
	 * Return how long before others may have the lock its holder counts as lost.
	 * @return the margin, or {@code null} for the service's default
	 */
	public @Nullable Duration lossMargin() {
		return this.lossMargin;
	}

	/**
	 * Return whether databases are to refuse the transactions of a late holder.
	 * @return whether the lock is fenced
	 */
	public boolean isFenced() {
		return this.fence != Fence.NONE;
	}

	/**
	 * Return whether the lock is fenced, and the token first raised by a transaction of
	 * the code.
	 * @return whether a transaction raises it
	 */
	public boolean isFencedByTransaction() {
		return this.fence == Fence.BY_TRANSACTION;
	}

	/** Several keys in one text, for messages. */
	private static String join(List<String> keys) {
		int shown = Math.min(keys.size(), 5);
		return String.join(", ", keys.subList(0, shown))
				+ ((keys.size() > shown) ? " and " + (keys.size() - shown) + " more" : "");
	}

	@Override
	public boolean equals(@Nullable Object other) {
		return other instanceof LockRequest that && this.keys.equals(that.keys) && this.mode == that.mode
				&& this.options.equals(that.options) && this.reentrant == that.reentrant && this.context == that.context
				&& this.fence == that.fence && Objects.equals(this.lossMargin, that.lossMargin);
	}

	@Override
	public int hashCode() {
		return Objects.hash(this.keys, this.mode, this.options, this.reentrant, this.fence, this.lossMargin);
	}

	@Override
	public String toString() {
		return "LockRequest[" + SingleLine.of(key()) + ", mode=" + this.mode + ", " + this.options + ", reentrant="
				+ this.reentrant + ((this.lossMargin != null) ? ", lossMargin=" + this.lossMargin : "")
				+ (isFenced() ? ", fenced" : "") + "]";
	}

	/** Use of the fencing token in databases. */
	private enum Fence {

		NONE, RAISED, BY_TRANSACTION

	}

}
