package io.holdfast;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.TreeSet;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;

/**
 * A request to a {@link LockService}. Immutable: each setter returns a new request. The
 * service's defaults apply to options that are not set.
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
	 * Return a request for a key, with the service's defaults.
	 * @param key the key to lock; not blank, without control characters
	 * @return the request
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	public static LockRequest of(String key) {
		return new LockRequest(List.of(checkKey("lock", key)), LockMode.EXCLUSIVE, LeaseOptions.DEFAULTS, true, null,
				Fence.NONE, null);
	}

	/**
	 * Return a request for several keys, with the service's defaults. All keys or none
	 * are acquired, within one wait time, as one lease. Each request acquires its keys in
	 * sorted order, so that requests for several keys never cause a deadlock among each
	 * other.
	 * @param keys from 1 to 1,000 keys; duplicates are ignored
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
	 * Return this request with other keys in place of its keys.
	 * @param keys from 1 to 1,000 keys; duplicates are ignored
	 * @return the changed request
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
	String ofText() {
		return " of lock '" + key() + "'";
	}

	/**
	 * Set whether to lock exclusively or for reading.
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
	 * Set whether a thread that already holds the key gets a nested lease at once. The
	 * key is held until all leases of the thread are released. While several are open,
	 * their longest lease time and longest {@code maxHold} apply to renewals.
	 * <p>
	 * With {@code false}, a thread never waits for itself: if the thread's own lease
	 * blocks the request, a request with a wait time is refused at once with the reason
	 * {@link NotAcquiredException.Reason#SELF_BLOCKED SELF_BLOCKED}. A request without a
	 * wait time is told that the key is held. An asynchronous request belongs to no
	 * thread, and waits.
	 * @param reentrant {@code true} (the default) for a nested lease, {@code false} for a
	 * separate lease
	 * @return the changed request
	 */
	public LockRequest reentrant(boolean reentrant) {
		return new LockRequest(this.keys, this.mode, this.options, reentrant, this.context, this.fence,
				this.lossMargin);
	}

	/**
	 * Set the minimum time for which other owners are kept out, even if the lease is
	 * released sooner. For jobs so short that another instance with a late clock would
	 * run them again. No caller waits for this time: the release returns at once, and
	 * takes effect when the time is over. The time does not apply after
	 * {@link LockLease#waiveMinHold()}, after a failure of the code of {@code withLock}
	 * and its variants, or after a rollback of the transaction that keeps the lock. It
	 * does not apply to nested leases.
	 * @param minHold the minimum time, from 0 (the default) to 365 days
	 * @return the changed request
	 * @throws IllegalArgumentException if the time is out of these bounds
	 */
	@Override
	public LockRequest minHold(Duration minHold) {
		return withMinHold(minHold);
	}

	/**
	 * Set the time between the loss of the lease for its holder and the earliest grant to
	 * another owner. For work that no fencing token guards: code that checks
	 * {@link LockLease#isHeld()}, or is interrupted on loss, has this time to stop. The
	 * margin helps if the store is slow or unreachable. It does not help if the holder
	 * pauses for longer than the margin, if the lock is released by force, or if the
	 * store loses it.
	 * <p>
	 * The margin is subtracted from each lease time: {@link LockLease#remaining()} is
	 * shorter by the margin, also after {@link LockLease#extend(Duration)}. A lease
	 * without renewal ends sooner for its holder by the margin. If a nested lease has a
	 * longer margin than its outer lease, the longer margin applies to both; if less time
	 * than that is left, it applies from the next renewal on.
	 * @param lossMargin the margin, from 0 to a third of the lease time; by default
	 * {@code holdfast.lock.loss-margin}, which is 0
	 * @return the changed request
	 * @throws IllegalArgumentException if the margin is negative, or more than a third of
	 * the request's lease time. A margin of more than a third of the default lease time
	 * is refused by the acquisition
	 * @throws NullPointerException if the margin is {@code null}
	 */
	public LockRequest lossMargin(Duration lossMargin) {
		checkBounds("lossMargin" + ofText(), lossMargin, Duration.ZERO, MAX_LEASE.dividedBy(3));
		return new LockRequest(this.keys, this.mode, this.options, this.reentrant, this.context, this.fence,
				lossMargin);
	}

	/**
	 * Set the context of the request. If the context has a lease of the key that is still
	 * held, the request gets a nested lease at once. By default, blocking calls have the
	 * context of their thread, and asynchronous calls have none.
	 * @param context the context
	 * @return the changed request
	 */
	public LockRequest within(LeaseContext context) {
		return new LockRequest(this.keys, this.mode, this.options, this.reentrant, context, this.fence,
				this.lossMargin);
	}

	/**
	 * Have databases refuse the transactions of a late holder: one that goes on after its
	 * lease was lost and another owner had the lock. Each new JDBC or JPA transaction
	 * under the lease that may write begins with a check of the lease's fencing token. A
	 * refused transaction does not begin, and its caller gets a
	 * {@link LeaseLostException}. Read-only transactions are not checked, because
	 * databases, except H2, refuse their writes.
	 * <p>
	 * A transaction with an isolation level above READ COMMITTED may read data from
	 * before the grant. Within such a transaction, the request is refused with an
	 * {@link IllegalStateException} if the transaction is read-only, or if the database
	 * is MariaDB or MySQL.
	 * <p>
	 * For {@link LockService#withLock(LockRequest, LeasedCall) withLock},
	 * {@code tryWithLock} and annotated methods, whose code runs on the calling thread.
	 * Not for readers.
	 * @return the changed request
	 * @throws IllegalArgumentException if the mode is {@link LockMode#READ READ}
	 */
	public LockRequest fenced() {
		return new LockRequest(this.keys, this.mode, this.options, this.reentrant, this.context, Fence.RAISED,
				this.lossMargin);
	}

	/**
	 * Set {@link #fenced()}, and declare that the code begins with a transaction that may
	 * write to the only fenced database. This transaction raises the token in the
	 * database, so that no separate transaction is needed for it. Transactional annotated
	 * methods declare this themselves.
	 * @return the changed request
	 * @throws IllegalArgumentException if the mode is {@link LockMode#READ READ}
	 */
	public LockRequest fencedByTransaction() {
		return new LockRequest(this.keys, this.mode, this.options, this.reentrant, this.context, Fence.BY_TRANSACTION,
				this.lossMargin);
	}

	/**
	 * Return this request within the context of the current thread and its transaction,
	 * unless it has a context.
	 */
	LockRequest withinCurrent() {
		LeaseContext current = LeasedCalls.currentContext();
		return (this.context != null || current.isEmpty()) ? this : within(current);
	}

	/**
	 * Return the key to lock.
	 * @return the key; for several keys, a text for messages that lists the first five
	 */
	public String key() {
		return (this.keys.size() == 1) ? this.keys.get(0) : join(this.keys);
	}

	/**
	 * Return the keys to lock.
	 * @return the keys in sorted order without duplicates, at least one
	 */
	public List<String> keys() {
		return this.keys;
	}

	/**
	 * Return the mode.
	 * @return the mode
	 */
	public LockMode mode() {
		return this.mode;
	}

	/**
	 * Return whether a thread that already holds the key gets a nested lease at once.
	 * @return whether it does
	 */
	public boolean isReentrant() {
		return this.reentrant;
	}

	/**
	 * Return the context of the request.
	 * @return the context, or {@code null} for the default
	 */
	public @Nullable LeaseContext context() {
		return this.context;
	}

	/**
	 * Return the time between the loss of the lease for its holder and the earliest grant
	 * to another owner.
	 * @return the margin, or {@code null} for the service's default
	 */
	public @Nullable Duration lossMargin() {
		return this.lossMargin;
	}

	/**
	 * Return whether databases refuse the transactions of a late holder.
	 * @return whether the lock is fenced
	 */
	public boolean isFenced() {
		return this.fence != Fence.NONE;
	}

	/**
	 * Return whether the lock is fenced, and a transaction of the code raises the token
	 * first.
	 * @return whether a transaction raises the token
	 */
	public boolean isFencedByTransaction() {
		return this.fence == Fence.BY_TRANSACTION;
	}

	/** Return a text for messages that lists the first five keys. */
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
