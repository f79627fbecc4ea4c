package io.holdfast.engine.queue;

import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.context.EngineContext;
import io.holdfast.engine.lease.Hold;
import io.holdfast.engine.observe.EngineObserver.HandOver;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;

/** The coordinator that releases are offered at. */
interface BargingHost {

	EngineContext context();

	/** Return whether a waiter may go on with a released hold. */
	boolean canTakeOver(Hold hold, Waiter waiter, long now);

	/** Have a waiter go on with a released hold. */
	void handOver(Hold hold, Waiter next, long now, HandOver way);

	/** Have a waiter go on with a released hold, if any may. */
	boolean tryHandOver(Hold hold, long now);

	/** Release in the store a hold that was released here. */
	CompletableFuture<ReleaseReply> releaseInStore(Hold hold);

}
