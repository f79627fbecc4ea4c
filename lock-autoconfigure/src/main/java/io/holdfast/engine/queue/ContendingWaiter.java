package io.holdfast.engine.queue;

import io.holdfast.engine.observe.EngineObserver.HandOver;
import io.holdfast.engine.request.ResolvedRequest;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;

/** The waiter that a contender contends for. */
interface ContendingWaiter {

	ResolvedRequest request();

	/** Return whether it still waits, for what the store says to its contender. */
	boolean isContending();

	/** Return when the caller is to be told that there is no lease. */
	long deadline();

	/**
	 * Return when the timer of its contender is to fire: at the given time; or at the
	 * deadline, if that comes first and this has no timer of its own.
	 */
	long contenderDueAt(long at);

	/**
	 * Return whether a failure of the store need not end the wait: others are waited for,
	 * or the store may be there again soon.
	 */
	boolean isWorthWaiting(Throwable error);

	/** End the wait, as its time is over. */
	void onTimedOut();

	/** End the wait, as the store cannot be asked. */
	void onFailure(Throwable error);

	/** End a wait of no time, as others hold it. */
	void onRefused();

	/** End the wait, as more is asked for than there is. */
	void onLimitExceeded(int limit);

	/** Begin a hold, of this waiter or of one before it that asks for the same. */
	void onGranted(Granted granted, long sentAt, HandOver way, long now);

}
