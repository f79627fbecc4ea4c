package io.holdfast;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;

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

	private LockRequest(List<String> keys, LeaseOptions options) {
		super(keys, options);
		if (options.fenced && options.mode == LockMode.READ) {
			throw new IllegalArgumentException(SingleLine.of("The lock '" + key() + "' is fenced and of mode READ")
					+ ": readers change nothing, so leave out one of the two");
		}
		Duration lossMargin = options.lossMargin;
		Duration leaseTime = options.leaseTime;
		if (lossMargin != null && leaseTime != null && lossMargin.multipliedBy(3).compareTo(leaseTime) > 0) {
			throw new IllegalArgumentException(SingleLine.of("lossMargin" + ofText() + " is " + lossMargin)
					+ ", more than a third of its leaseTime of " + leaseTime + ": lower the one, or raise the other");
		}
	}

	/**
	 * Return a request for a key, with the service's defaults.
	 * @param key the key to lock; of 1 to 1,024 characters, not blank, without control
	 * characters
	 * @return the request
	 * @throws IllegalArgumentException if the key is not allowed
	 */
	public static LockRequest of(String key) {
		return new LockRequest(List.of(checkKey("lock", key)), LeaseOptions.DEFAULTS);
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
		return new LockRequest(List.of(), LeaseOptions.DEFAULTS).only(keys);
	}

	@Override
	LockRequest with(List<String> keys, LeaseOptions options) {
		return new LockRequest(keys, options);
	}

	@Override
	String kind() {
		return "lock";
	}

	/**
	 * Return this request with other keys in place of its keys.
	 * @param keys from 1 to 1,000 keys; duplicates are ignored
	 * @return the changed request
	 * @throws IllegalArgumentException if there is no key, or a key is not allowed
	 */
	public LockRequest only(Collection<String> keys) {
		List<String> ordered = keys.stream().map(this::inNamespace).sorted().distinct().toList();
		checkBounds("The number of keys to lock together", ordered.size(), 1, MAX_KEYS);
		return with(ordered, this.options);
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
		return changed((options) -> options.mode = mode);
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
		return changed((options) -> options.reentrant = reentrant);
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
		return super.minHold(minHold);
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
		return changed((options) -> options.lossMargin = lossMargin);
	}

	/**
	 * Set the context of the request. If the context has a lease of the key that is still
	 * held, the request gets a nested lease at once. By default, blocking calls and calls
	 * with code, such as {@code withLockAsync}, have the context of their thread;
	 * {@code acquireAsync} and {@code tryAcquireAsync} have none.
	 * @param context the context
	 * @return the changed request
	 */
	public LockRequest within(LeaseContext context) {
		return changed((options) -> options.context = context);
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
	 * These calls also throw an {@link IllegalStateException} if no database is fenced,
	 * and Spring's {@code DataAccessException} if a database fails or the row of the lock
	 * is locked for too long. {@code acquire} and {@code tryAcquire} without
	 * {@link #forCode()}, asynchronous calls and views refuse the request with an
	 * {@link IllegalArgumentException}. Not for readers.
	 * @return the changed request
	 * @throws IllegalArgumentException if the mode is {@link LockMode#READ READ}
	 */
	public LockRequest fenced() {
		return changed((options) -> options.fenced = true);
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
		return changed((options) -> {
			options.fenced = true;
			options.fencedByTransaction = true;
		});
	}

	/**
	 * Return this request within the context of the current thread and its transaction,
	 * unless it has a context.
	 */
	LockRequest withinCurrent() {
		LeaseContext current = LeasedCalls.currentContext();
		return (context() != null || current.isEmpty()) ? this : within(current);
	}

	@Override
	public String key() {
		if (this.keys.size() == 1) {
			return this.keys.get(0);
		}
		int shown = Math.min(this.keys.size(), 5);
		return String.join(", ", this.keys.subList(0, shown))
				+ ((this.keys.size() > shown) ? " and " + (this.keys.size() - shown) + " more" : "");
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
		return this.options.mode;
	}

	/**
	 * Return whether a thread that already holds the key gets a nested lease at once.
	 * @return whether it does
	 */
	public boolean isReentrant() {
		return this.options.reentrant;
	}

	/**
	 * Return the context of the request.
	 * @return the context, or {@code null} for the default
	 */
	public @Nullable LeaseContext context() {
		return this.options.context;
	}

	/**
	 * Return the time between the loss of the lease for its holder and the earliest grant
	 * to another owner.
	 * @return the margin, or {@code null} for the service's default
	 */
	public @Nullable Duration lossMargin() {
		return this.options.lossMargin;
	}

	/**
	 * Return whether databases refuse the transactions of a late holder.
	 * @return whether the lock is fenced
	 */
	public boolean isFenced() {
		return this.options.fenced;
	}

	/**
	 * Return whether the lock is fenced, and a transaction of the code raises the token
	 * first.
	 * @return whether a transaction raises the token
	 */
	public boolean isFencedByTransaction() {
		return this.options.fencedByTransaction;
	}

	@Override
	public String toString() {
		return "LockRequest[" + SingleLine.of(key()) + ", mode=" + mode() + ", " + this.options + ", reentrant="
				+ isReentrant() + ((lossMargin() != null) ? ", lossMargin=" + lossMargin() : "")
				+ (isFenced() ? ", fenced" : "") + "]";
	}

}
