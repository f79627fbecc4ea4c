package io.holdfast.engine;

/**
 * What a {@link Simulation} can have wrong on purpose, to see that it is noticed.
 */
enum Mutant {

	/** All is as it should be. */
	NONE,

	/** A release ends whatever lease there is. */
	BLIND_RELEASE,

	/** All instances have the same id. */
	ONE_OWNER_ID,

	/** A renewal creates what is not there. */
	RENEWAL_CREATES,

	/** The store forgets the last fencing token. */
	OLD_FENCE,

	/** The store keeps a lease for half of its time. */
	SHORT_LEASE,

	/** Locks are asked for without their loss margin. */
	NO_LOSS_MARGIN,

	/** The store keeps a lease for long, whatever was asked for. */
	NO_END,

	/** A shut-down leaves the subscription. */
	ENDLESS_SUBSCRIPTION,

	/** An error is taken for another owner. */
	TROUBLE_AS_BUSY,

	/** A view is unlocked by any thread. */
	ANY_THREAD_UNLOCKS,

	/** An instance that is started again has the id that it had before. */
	SAME_ID_AGAIN,

	/** Grants are not held back until replicas have them. */
	UNCONFIRMED_GRANTS,

	/** What was not confirmed is not released. */
	UNCONFIRMED_KEPT,

	/** Commands run behind newer ones, and the driver does not say so. */
	UNNOTICED_RECONNECTS,

	/** An instance says only once that it is there. */
	SAID_ONCE,

	/** Instances that say nothing any more are not forgotten. */
	ETERNAL_MEMBERS,

	/** An instance that is asked what it holds does not answer. */
	MUTE_MEMBER,

	/** It answers that it holds nothing. */
	EMPTY_REPORTS,

	/** A forced release releases nothing, and says that it did. */
	FORCE_IN_VAIN,

	/** An instance does not heed that its lease was released by force. */
	UNHEARD_FORCE,

	/** Requests come to their instance later than others that were made after them. */
	LATE_ARRIVALS,

	/** The answer to a release never counts as certain. */
	UNNOTICED_LOSS,

	/** The answer to a copy of a release counts as certain. */
	CERTAIN_COPIES,

	/** A grant is announced, and taken back then if no subscriber counts. */
	ANNOUNCED_TOO_SOON,

	/** Copies of an instance go on with the id that it had. */
	ONE_ID_OF_COPIES,

	/** A shut-down is not told that code runs under leases. */
	UNMARKED_CODE,

	/** A store whose memory is full refuses those who wait in its queue, too. */
	FULL_FOR_WAITERS

}
