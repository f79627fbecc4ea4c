package io.holdfast.engine.view;

import java.util.concurrent.TimeUnit;
import java.util.function.Function;

import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreStatus;
import io.holdfast.SemaphoreView;
import io.holdfast.async.SingleLine;
import io.holdfast.engine.lease.LeaseHandle.PermitHandle;
import io.holdfast.engine.view.SemaphoreViewPermits.Portion;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * A semaphore whose permits belong to no thread: what was acquired is kept in a pool of
 * the service.
 */
public final class PooledSemaphore implements SemaphoreView {

	private static final Log logger = LogFactory.getLog(PooledSemaphore.class);

	private final SemaphoreRequest request;

	/** The request of calls without a time: waits as configured, or without limit. */
	private final SemaphoreRequest patient;

	private final BlockingAcquirer<SemaphoreRequest, PermitLease> acquirer;

	private final Function<String, SemaphoreStatus> status;

	private final SemaphoreViewPermits pools;

	/** Create the view of a semaphore. */
	public PooledSemaphore(SemaphoreRequest request, BlockingAcquirer<SemaphoreRequest, PermitLease> acquirer,
			Function<String, SemaphoreStatus> status, SemaphoreViewPermits pools) {
		this.request = request;
		this.patient = (request.waitTime() != null) ? request : request.waitForever();
		this.acquirer = acquirer;
		this.status = status;
		this.pools = pools;
	}

	@Override
	public void acquire(int permits) throws InterruptedException {
		keep(this.acquirer.await(this.patient.permits(permits)));
	}

	@Override
	public void acquireUninterruptibly(int permits) {
		keep(this.acquirer.awaitUninterruptibly(this.patient.permits(permits)));
	}

	@Override
	public boolean tryAcquire(int permits) {
		return tryAcquire(this.request, permits);
	}

	private boolean tryAcquire(SemaphoreRequest base, int permits) {
		try {
			keep(this.acquirer.awaitUninterruptibly(BlockingAcquirer.once(base.permits(permits))));
			return true;
		}
		catch (NotAcquiredException ex) {
			return BlockingAcquirer.falseIfTimedOut(ex);
		}
	}

	@Override
	public boolean tryAcquire(int permits, long time, TimeUnit unit) throws InterruptedException {
		return this.acquirer.tryAwait(this.request.permits(permits), time, unit, this::keep);
	}

	private void keep(PermitLease lease) {
		this.pools.add((PermitHandle) lease);
	}

	@Override
	public void release(int permits) {
		this.request.permits(permits);
		LeaseLostException lost = null;
		for (Portion portion : this.pools.take(this.request.key(), permits)) {
			try {
				release(portion);
			}
			catch (LeaseLostException ex) {
				lost = ex;
			}
			catch (LeaseStoreException ex) {
				logger.warn(ex.getMessage());
			}
		}
		if (lost != null) {
			throw lost;
		}
	}

	private static void release(Portion portion) {
		if (portion.lease().release(portion.permits()) == ReleaseResult.LOST) {
			throw new LeaseLostException(portion.lease().key(),
					"The lease of " + portion.permits() + " permits of semaphore '" + portion.lease().key()
							+ "' was lost before they were released, because " + portion.lease().whyNotHeld());
		}
	}

	@Override
	public int availablePermits() {
		SemaphoreStatus status = this.status.apply(this.request.key());
		Integer limit = status.limitSet() ? status.limit() : Integer.valueOf(this.request.limit());
		return (limit != null) ? Math.max(0, limit - status.used()) : 0;
	}

	@Override
	public int drainPermits() {
		int refused = 0;
		while (true) {
			int free = availablePermits();
			// Others may be faster: then there are fewer the next time. If there are not,
			// nothing is granted now, as for a while after a fail-over.
			if (free == 0 || free == refused) {
				return 0;
			}
			if (tryDrain(free)) {
				return free;
			}
			refused = free;
		}
	}

	private boolean tryDrain(int permits) {
		try {
			// Behind a waiter that wants more than is free, it would get nothing.
			return tryAcquire(this.request.fair(false), permits);
		}
		catch (NotAcquiredException ex) {
			if (ex.getReason() == Reason.EXCEEDS_LIMIT) {
				// It was lowered just now.
				return false;
			}
			throw ex;
		}
	}

	@Override
	public boolean equals(@Nullable Object other) {
		return other instanceof PooledSemaphore that && this.request.equals(that.request) && this.pools == that.pools;
	}

	@Override
	public int hashCode() {
		return this.request.hashCode();
	}

	@Override
	public String toString() {
		return "semaphore '" + SingleLine.of(this.request.key()) + "'";
	}

}
