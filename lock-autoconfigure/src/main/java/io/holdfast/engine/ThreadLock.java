package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.function.Function;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockStatus;
import io.holdfast.LockView;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;
import io.holdfast.async.SingleLine;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * A key as a lock that threads own: it keeps, for each thread, the leases that an unlock
 * has to release.
 */
final class ThreadLock implements LockView {

	private static final Log logger = LogFactory.getLog(ThreadLock.class);

	private final LockRequest request;

	/** The request of calls without a time: waits as configured, or without limit. */
	private final LockRequest patient;

	private final BlockingAcquirer<LockRequest, LockLease> acquirer;

	private final Function<String, LockStatus> status;

	private final Holds holds;

	/** Create the view of a lock. */
	ThreadLock(LockRequest request, BlockingAcquirer<LockRequest, LockLease> acquirer,
			Function<String, LockStatus> status, Holds holds) {
		this.request = request;
		this.patient = (request.waitTime() != null) ? request : request.waitForever();
		this.acquirer = acquirer;
		this.status = status;
		this.holds = holds;
	}

	@Override
	public void lock() {
		this.holds.push(this.request, this.acquirer.awaitUninterruptibly(this.patient));
	}

	@Override
	public void lockInterruptibly() throws InterruptedException {
		this.holds.push(this.request, this.acquirer.await(this.patient));
	}

	@Override
	public boolean tryLock() {
		try {
			this.holds.push(this.request, this.acquirer.awaitUninterruptibly(BlockingAcquirer.once(this.request)));
			return true;
		}
		catch (LockNotAcquiredException ex) {
			// It does not wait, so a lease of its own thread in the way is no error.
			return ex.getReason() != Reason.SELF_BLOCKED && falseIfTimedOut(ex);
		}
	}

	@Override
	public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
		// Not Duration.of, which overflows where this ends at the longest wait.
		Duration wait = Duration.ofNanos(unit.toNanos(Math.max(0, time)));
		try {
			this.holds.push(this.request, this.acquirer
				.await(wait.isZero() ? BlockingAcquirer.once(this.request) : this.request.waitTime(wait)));
			return true;
		}
		catch (NotAcquiredException ex) {
			return falseIfTimedOut(ex);
		}
	}

	/**
	 * Return that others held it until the wait time was over, or throw the exception.
	 */
	private static boolean falseIfTimedOut(NotAcquiredException ex) {
		if (ex.getReason() == Reason.TIMED_OUT) {
			return false;
		}
		throw ex;
	}

	@Override
	public void unlock() {
		LockLease lease = this.holds.pop(this.request);
		if (lease == null) {
			throw notOwner();
		}
		// A loss is known here, whether or not the store can be asked.
		boolean held = lease.isHeld();
		String over = "lost";
		try {
			ReleaseResult result = lease.release();
			held &= result != ReleaseResult.LOST;
			over = (result == ReleaseResult.ALREADY_RELEASED) ? "released by itself" : over;
		}
		catch (LeaseStoreException ex) {
			logger.warn(ex.getMessage());
		}
		if (!held) {
			throw new IllegalMonitorStateException("Thread '" + SingleLine.of(Thread.currentThread().getName())
					+ "' does not hold " + this + " any more: its lease was " + over);
		}
	}

	@Override
	public Condition newCondition() {
		throw new UnsupportedOperationException("A distributed lock has no conditions");
	}

	@Override
	public boolean isLocked() {
		return this.status.apply(this.request.key()).isLocked();
	}

	@Override
	public boolean isHeldByCurrentThread() {
		LockLease lease = this.holds.get(this.request).peek();
		return lease != null && lease.isHeld();
	}

	@Override
	public int getHoldCount() {
		return this.holds.get(this.request).size();
	}

	@Override
	public LockLease lease() {
		LockLease lease = this.holds.get(this.request).peek();
		if (lease == null) {
			throw notOwner();
		}
		return lease;
	}

	private IllegalMonitorStateException notOwner() {
		return new IllegalMonitorStateException(
				"Thread '" + SingleLine.of(Thread.currentThread().getName()) + "' does not hold " + this);
	}

	@Override
	public @Nullable Duration remaining() {
		LockStatus status = this.status.apply(this.request.key());
		return status.isLocked() ? status.remaining() : Duration.ZERO;
	}

	@Override
	public boolean equals(@Nullable Object other) {
		return other instanceof ThreadLock that && this.request.equals(that.request) && this.holds == that.holds;
	}

	@Override
	public int hashCode() {
		return this.request.hashCode();
	}

	@Override
	public String toString() {
		String mode = (this.request.mode() == LockMode.EXCLUSIVE) ? "" : this.request.mode() + " ";
		return mode + "lock '" + SingleLine.of(this.request.key()) + "'";
	}

	/**
	 * The leases that the current thread has taken by views, by key and mode: views whose
	 * terms differ count the holds of a thread together.
	 */
	static final class Holds {

		/** Never added to. */
		private static final Deque<LockLease> NONE = new ArrayDeque<>(1);

		private final ThreadLocal<Map<Key, Deque<LockLease>>> leases = ThreadLocal.withInitial(HashMap::new);

		void push(LockRequest request, LockLease lease) {
			this.leases.get().computeIfAbsent(Key.of(request), (key) -> new ArrayDeque<>(2)).push(lease);
		}

		/** Return the leases of a lock, the newest one first. Not to be changed. */
		Deque<LockLease> get(LockRequest request) {
			Deque<LockLease> held = this.leases.get().getOrDefault(Key.of(request), NONE);
			removeIfEmpty();
			return held;
		}

		/** Take the newest lease of a lock; {@code null} if there is none. */
		@Nullable LockLease pop(LockRequest request) {
			Deque<LockLease> held = get(request);
			LockLease lease = held.poll();
			if (held.isEmpty()) {
				this.leases.get().remove(Key.of(request));
				removeIfEmpty();
			}
			return lease;
		}

		/** Leave nothing at a thread that holds nothing. */
		private void removeIfEmpty() {
			if (this.leases.get().isEmpty()) {
				this.leases.remove();
			}
		}

		/** The lock that a thread owns by views. */
		private record Key(String key, LockMode mode) {

			static Key of(LockRequest request) {
				return new Key(request.key(), request.mode());
			}

		}

	}

}
