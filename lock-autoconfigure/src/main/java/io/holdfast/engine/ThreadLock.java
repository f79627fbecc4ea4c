package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.function.Supplier;

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
 * View of a key as a lock owned by threads. Keeps the leases of each thread for
 * {@link #unlock()}.
 */
final class ThreadLock implements LockView {

	private static final Log logger = LogFactory.getLog(ThreadLock.class);

	private final LockRequest request;

	/**
	 * Request of the lock methods without a time: waits for the request's wait time, or
	 * without limit.
	 */
	private final LockRequest waitingRequest;

	private final DefaultLockService service;

	private final Supplier<LockStatus> status;

	private final Holds holds;

	/** Create the view of a lock. */
	ThreadLock(LockRequest request, DefaultLockService service) {
		this.request = request;
		this.waitingRequest = (request.waitTime() != null) ? request : request.waitForever();
		this.service = service;
		this.status = () -> service.status(request);
		this.holds = service.threadHolds;
	}

	@Override
	public void lock() {
		this.holds.push(this.request, this.service.awaitUninterruptibly(this.waitingRequest));
	}

	@Override
	public void lockInterruptibly() throws InterruptedException {
		this.holds.push(this.request, this.service.await(this.waitingRequest));
	}

	@Override
	public boolean tryLock() {
		try {
			this.holds.push(this.request, this.service.awaitUninterruptibly(EngineService.once(this.request)));
			return true;
		}
		catch (LockNotAcquiredException ex) {
			// Without waiting, a lease of the same thread that blocks the request is no
			// error.
			return ex.getReason() != Reason.SELF_BLOCKED && falseIfTimedOut(ex);
		}
	}

	@Override
	public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
		// Not Duration.of: TimeUnit limits the value where Duration.of would overflow.
		Duration wait = Duration.ofNanos(unit.toNanos(Math.max(0, time)));
		try {
			this.holds.push(this.request,
					this.service.await(wait.isZero() ? EngineService.once(this.request) : this.request.waitTime(wait)));
			return true;
		}
		catch (NotAcquiredException ex) {
			return falseIfTimedOut(ex);
		}
	}

	/**
	 * Return {@code false} for a timeout, or throw the exception.
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
		// A loss is known in this instance, even if the store cannot be asked.
		boolean held = lease.isHeld();
		String endReason = "lost";
		try {
			ReleaseResult result = lease.release();
			held &= result != ReleaseResult.LOST;
			endReason = (result == ReleaseResult.ALREADY_RELEASED) ? "released by itself" : endReason;
		}
		catch (LeaseStoreException ex) {
			logger.warn(ex.getMessage());
		}
		if (!held) {
			throw new IllegalMonitorStateException("Thread '" + SingleLine.of(Thread.currentThread().getName())
					+ "' does not hold " + this + " any more: its lease was " + endReason);
		}
	}

	@Override
	public Condition newCondition() {
		throw new UnsupportedOperationException("A distributed lock has no conditions");
	}

	@Override
	public boolean isLocked() {
		return this.status.get().isLocked();
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
		return new IllegalMonitorStateException("Thread '" + SingleLine.of(Thread.currentThread().getName())
				+ "' does not hold " + this
				+ ": unlock on the thread that locked, or use LockService.acquire, whose lease any thread may release");
	}

	@Override
	public @Nullable Duration remaining() {
		LockStatus status = this.status.get();
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
	 * Leases that the current thread has acquired by views, by key and mode. Views of one
	 * key and mode share the hold count, even with different terms.
	 */
	static final class Holds {

		/** Empty deque. Never modified. */
		private static final Deque<LockLease> NONE = new ArrayDeque<>(1);

		private final ThreadLocal<Map<Key, Deque<LockLease>>> leases = ThreadLocal.withInitial(HashMap::new);

		void push(LockRequest request, LockLease lease) {
			this.leases.get().computeIfAbsent(Key.of(request), (key) -> new ArrayDeque<>(2)).push(lease);
		}

		/** Return the leases of a lock, the newest first. Callers must not add leases. */
		Deque<LockLease> get(LockRequest request) {
			Deque<LockLease> held = this.leases.get().getOrDefault(Key.of(request), NONE);
			removeIfEmpty();
			return held;
		}

		/**
		 * Remove and return the newest lease of a lock, or return {@code null} if there
		 * is none.
		 */
		@Nullable LockLease pop(LockRequest request) {
			Deque<LockLease> held = get(request);
			LockLease lease = held.poll();
			if (held.isEmpty()) {
				this.leases.get().remove(Key.of(request));
				removeIfEmpty();
			}
			return lease;
		}

		/** Remove the thread-local value of a thread without leases. */
		private void removeIfEmpty() {
			if (this.leases.get().isEmpty()) {
				this.leases.remove();
			}
		}

		/** Key and mode of a lock. */
		private record Key(String key, LockMode mode) {

			static Key of(LockRequest request) {
				return new Key(request.key(), request.mode());
			}

		}

	}

}
