package io.holdfast.engine.handover;

import java.util.concurrent.TimeUnit;

import io.holdfast.engine.context.EngineContext;
import io.holdfast.engine.lease.Hold;
import io.holdfast.engine.request.ResolvedRequest;
import io.holdfast.engine.store.HandOverLimits;

/**
 * The rules for a released hold: whether a waiter of this instance may take it over. They
 * change nothing: the coordinator decides and acts. Called in its events.
 */
public final class HandOverRules {

	private final EngineContext context;

	/** Create the rules of an instance. */
	public HandOverRules(EngineContext context) {
		this.context = context;
	}

	/**
	 * Return whether a request can take over a released hold: within the limits of local
	 * hand-over, renewal on, the same lease time, enough validity left, no failing
	 * renewal. The limits leave a fencing token for each.
	 */
	public boolean canTakeOver(Hold hold, ResolvedRequest next, long now) {
		return isWithinLimits(hold, now) && isSound(hold, now) && isLike(hold, next);
	}

	private boolean isWithinLimits(Hold hold, long now) {
		HandOverLimits limits = this.context.settings.localHandOver(hold.resource().kind());
		return hold.history.handOvers() < limits.maxCount()
				&& now - hold.history.grantedByStoreAt() < limits.maxTime().toNanos();
	}

	private static boolean isLike(Hold hold, ResolvedRequest other) {
		return other.renewal() && other.leaseMillis() == hold.request.leaseMillis();
	}

	/**
	 * Return whether a hold lasts for long enough. Nor for longer than its lease time, as
	 * after a renewal by hand: others would wait that long if the next holder died.
	 */
	private static boolean isSound(Hold hold, long now) {
		long left = TimeUnit.NANOSECONDS.toMillis(hold.validUntil() - now);
		return hold.request.renewal() && !hold.renewal.isFailing() && !hold.isExtending()
				&& left > hold.request.claimMillis() / 2 && left <= hold.request.leaseMillis();
	}

}
