package io.holdfast.engine;

/** A lease that is open on a hold, with terms of its own. */
interface LeaseTerms {

	/** Return whether it is to be renewed, or was until its maxHold. */
	boolean isRenewed();

	boolean isRenewed(long now);

	/**
	 * Return for how long it is renewed in all, in nanoseconds: 0 if it is not. This and
	 * the other terms are constant between {@linkplain OpenLeases#change changes}.
	 */
	long renewedNanos();

	/** Return the end of that time. */
	long renewedUntil();

	long leaseMillis();

	/** Return its number among the leases of its hold. */
	long number();

	/** Return how much is left of its time if nothing lengthens it. */
	long leftMillis(long now);

	/** Return the end of its validity had it been granted when it was asked for. */
	long validIfGranted();

	/** Return whether the thread of the hold asked for it. */
	boolean isOwn();

	/** Return whether code runs under it until its release. */
	boolean isForCode();

	boolean isReleased();

	/** Return whether the caller of the code under it has gone. */
	boolean isCallerGone();

}
