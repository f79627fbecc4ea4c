package io.holdfast.engine.lease;

/** A lease that is open on a hold, with terms of its own. */
public interface LeaseTerms {

	/** Whether it is renewed depends on the time, or it is not at all. */
	long DEPENDS = -1;

	/** Return whether it is to be renewed, or was until its maxHold. */
	boolean isRenewed();

	boolean isRenewed(long now);

	/**
	 * Return its lease time if it is renewed for as long as it is open, whatever the
	 * time, or {@link #DEPENDS}.
	 */
	long foreverMillis();

	long leaseMillis();

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
