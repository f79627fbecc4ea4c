package io.holdfast.engine.queue;

import io.holdfast.engine.context.EngineContext;
import io.holdfast.engine.handover.HandOverRules;
import io.holdfast.engine.lease.HoldLosses;
import io.holdfast.engine.lease.LeaseRenewer;
import io.holdfast.engine.release.TokenReleases;
import io.holdfast.engine.store.Resource;
import org.jspecify.annotations.Nullable;

/**
 * The parts of an instance that its coordinators share.
 *
 * @param context the surroundings of the instance
 * @param losses reports lost holds
 * @param renewer renews what is held
 * @param releases ends tokens in the store
 * @param registry keeps account of coordinators and waiters
 * @param rules decide which released holds stay in the instance
 */
record CoordinatorParts(EngineContext context, HoldLosses losses, LeaseRenewer renewer, TokenReleases releases,
		Registry registry, HandOverRules rules) {

	/** Keeps account of the coordinators of an instance, and of what waits at them. */
	interface Registry {

		/** Return what contends by a token, or {@code null}. */
		@Nullable Contender contender(String token);

		/**
		 * Create the contender of a waiter, and find it by its token from now on.
		 * @param coordinator its coordinator
		 * @param waiter the waiter
		 */
		Contender addContender(ContenderHost coordinator, Waiter waiter);

		/** Note that a token contends no more. */
		void removeContender(String token);

		/** Change the number of requests that stand in the queues of this instance. */
		void addQueued(int more);

		/** Return how many requests wait at all coordinators. */
		int waiting();

		/**
		 * Note that one user of a coordinator needs it no more; with the last one it
		 * goes.
		 */
		void removeUser(Resource resource);

	}

}
