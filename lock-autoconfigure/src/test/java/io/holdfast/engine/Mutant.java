package io.holdfast.engine;

/**
 * Deliberate faults of a {@link Simulation}, to prove that the checks detect each fault.
 */
enum Mutant {

	/** No fault. */
	NONE,

	/** A release ends any lease of the key. */
	BLIND_RELEASE,

	/** All instances have the same id. */
	ONE_OWNER_ID,

	/** A renewal creates a missing lease. */
	RENEWAL_CREATES,

	/** The store forgets the last fencing token. */
	OLD_FENCE,

	/** The store keeps a lease for half of its time. */
	SHORT_LEASE,

	/** Requests for locks omit their loss margin. */
	NO_LOSS_MARGIN,

	/** The store keeps a lease far longer than requested. */
	NO_END,

	/** A shutdown keeps the subscription. */
	ENDLESS_SUBSCRIPTION,

	/** An error is reported as another owner. */
	TROUBLE_AS_BUSY,

	/** A view can be unlocked by any thread. */
	ANY_THREAD_UNLOCKS,

	/** A restarted instance keeps its id. */
	SAME_ID_AGAIN,

	/** Grants do not wait for replicas. */
	UNCONFIRMED_GRANTS,

	/** An unconfirmed grant is not released. */
	UNCONFIRMED_KEPT,

	/** Commands run behind newer commands, unnoticed by the driver. */
	UNNOTICED_RECONNECTS,

	/** An instance joins only once. */
	JOINED_ONCE,

	/** Silent instances are never forgotten. */
	ETERNAL_MEMBERS,

	/** An instance does not answer a request for its report. */
	MUTE_MEMBER,

	/** An instance reports no holds. */
	EMPTY_REPORTS,

	/** A forced release does nothing and reports success. */
	INEFFECTIVE_FORCE,

	/** An instance ignores the forced release of its lease. */
	IGNORED_FORCE,

	/** Requests reach their instance later than newer requests. */
	LATE_ARRIVALS,

	/** The answer to a release never counts as certain. */
	UNNOTICED_LOSS,

	/** The answer to a copy of a release counts as certain. */
	CERTAIN_COPIES,

	/** A grant is announced, and withdrawn if no subscriber counts. */
	ANNOUNCED_TOO_SOON,

	/** Copies of an instance keep its id. */
	ONE_ID_OF_COPIES,

	/** A shutdown does not know of code that runs under leases. */
	UNMARKED_CODE,

	/** A store with full memory also refuses the waiters in its queue. */
	FULL_FOR_WAITERS

}
