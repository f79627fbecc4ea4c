package io.holdfast.engine.handover;

import java.util.concurrent.TimeUnit;

import io.holdfast.engine.context.EngineContext;
import io.holdfast.engine.lease.Hold;
import io.holdfast.engine.request.ResolvedRequest;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.Tokens;

/**
 * The rules for a released hold: whether a waiter of this instance may take it over. They
 * change nothing: the coordinator decides and acts. Called in its events.
 */
public final class HandOverRules {

	/**
	 * Longest stay in this instance without asking the store, whose message that others
	 * wait may be lost.
	 */
	private static final long LONGEST_STAY = TimeUnit.SECONDS.toNanos(1);

	private final EngineContext context;

	/** Create the rules of an instance. */
	public HandOverRules(EngineContext context) {
		this.context = context;
	}

	/**
	 * Return whether a request can take over a released hold: renewal on, the same lease
	 * time, enough validity left, no failing renewal, an unused fencing token, and either
	 * the turn of this instance not over or no other instance waiting.
	 * @param quiet whether no other instance waited a moment ago
	 */
	public boolean canTakeOver(Hold hold, ResolvedRequest next, boolean quiet, long now) {
		boolean staysHere = isWithinTurn(hold, now) || mayOutlastTurn(hold, quiet, now);
		return staysHere && isSound(hold, now) && isLike(hold, next);
	}

	/** Return the same where it is not known whether other instances waited just now. */
	public boolean canTakeOver(Hold hold, ResolvedRequest next, long now) {
		return canTakeOver(hold, next, false, now);
	}

	private boolean isWithinTurn(Hold hold, long now) {
		HandOverLimits limits = limits(hold);
		return hold.history.turns() < limits.maxCount()
				&& now - hold.history.grantedByStoreAt() < limits.maxTime().toNanos() && hasFence(hold);
	}

	private boolean mayOutlastTurn(Hold hold, boolean quiet, long now) {
		boolean noOthersWait = isWantedHereOnly(hold, now) || quiet && mayStay(hold, now);
		return limits(hold).isOn() && noOthersWait;
	}

	/**
	 * Return whether at least half of the time or of the count of this instance's turn is
	 * over.
	 */
	public boolean isLate(Hold hold, long now) {
		HandOverLimits limits = limits(hold);
		return 2 * hold.history.turns() >= limits.maxCount()
				|| 2 * (now - hold.history.grantedByStoreAt()) >= limits.maxTime().toNanos();
	}

	private HandOverLimits limits(Hold hold) {
		return this.context.settings.localHandOver(hold.resource().kind());
	}

	/**
	 * Return whether no other instance wants the hold, as far as the store has told,
	 * which it can while messages are received. Not for long: a message may be lost.
	 */
	private boolean isWantedHereOnly(Hold hold, long now) {
		return !hold.isWanted() && Tokens.isNotifiedWhenWanted(hold.token) && this.context.store.isListening()
				&& mayStay(hold, now);
	}

	/** Return whether it may stay for longer than a turn if no other instance waits. */
	private static boolean mayStay(Hold hold, long now) {
		return hasFence(hold) && now - hold.history.grantedByStoreAt() < LONGEST_STAY;
	}

	/** Return whether a fence is left for the next one. Permits have no stride. */
	private static boolean hasFence(Hold hold) {
		return hold.resource().kind() == Kind.SEMAPHORE || hold.history.handOvers() < hold.history.fences() - 1;
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
		return hold.request.renewal() && !hold.isLost() && !hold.renewal.isFailing() && !hold.isExtending()
				&& left > hold.request.claimMillis() / 2 && left <= hold.request.leaseMillis();
	}

}
