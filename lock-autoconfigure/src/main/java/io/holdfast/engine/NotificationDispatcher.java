package io.holdfast.engine;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.StoreNotifications;

/**
 * The dispatcher of the store's notifications to the queue or hold that each concerns.
 * Most tell of a grant to a waiter here, made by the command of another one. Thread-safe.
 */
final class NotificationDispatcher implements StoreNotifications {

	private final EngineContext context;

	private final LeaseRenewer renewer;

	private final TokenReleases releases;

	private final ResourceQueues queues;

	NotificationDispatcher(EngineContext context, LeaseRenewer renewer, TokenReleases releases, ResourceQueues queues) {
		this.context = context;
		this.renewer = renewer;
		this.releases = releases;
		this.queues = queues;
	}

	@Override
	public void granted(Resource resource, String token, long fence, long ttlMillis) {
		dispatch(resource, token, fence, ttlMillis, ttlMillis > 0);
	}

	@Override
	public void grantedUnconfirmed(Resource resource, String token, long fence) {
		dispatch(resource, token, fence, 0, true);
	}

	/**
	 * Pass a notification to the queue that it concerns.
	 * @param ttlMillis how long the grant lasts, or 0 if the waiter is to ask again
	 * @param granted whether the token was granted something
	 */
	private void dispatch(Resource resource, String token, long fence, long ttlMillis, boolean granted) {
		Runnable otherwise = () -> onOtherToken(resource, token, fence, granted);
		ResourceQueue queue = this.queues.ofPlace(token);
		if (queue == null) {
			otherwise.run();
			return;
		}
		// It may have been granted, or given up, by an event before this one.
		queue.onNotified(token, fence, ttlMillis, otherwise);
	}

	private void onOtherToken(Resource resource, String token, long fence, boolean granted) {
		if (this.releases.isOver(token)) {
			// Its waiter gave up: others must not wait for the claim's end.
			this.releases.releaseAfterOther(resource, unknown(token));
		}
		else if (granted) {
			onGrantedAnew(resource, token, fence);
		}
	}

	/**
	 * Lose a hold whose token was granted anew, with a newer fence: the store had let go
	 * of the token, and a late copy of its ACQUIRE has queued it again. Others may have
	 * had the key.
	 */
	private void onGrantedAnew(Resource resource, String token, long fence) {
		Hold hold = this.renewer.find(token);
		if (hold != null && fence > hold.fence) {
			this.renewer.onTokenLost(token, "the store had dropped it, and has granted it again");
			this.releases.release(resource, unknown(token), Hold.NO_DOUBT, null);
		}
	}

	private AcquireCommand unknown(String token) {
		return AcquireCommand.unknown(token, this.context.settings.handoffTimeout().toMillis());
	}

	@Override
	public void ended(String token, long nextFence) {
		this.renewer.onTokenLost(token, nextFence, ForcedRelease.FORCED);
		ResourceQueue queue = this.queues.ofPlace(token);
		if (queue != null) {
			queue.onForced(token, nextFence, () -> this.renewer.onTokenLost(token, nextFence, ForcedRelease.FORCED));
		}
	}

	@Override
	public void reportWanted(String report) {
		InstanceDirectory directory = this.context.directory();
		if (directory != null) {
			directory.answer(report);
		}
	}

	@Override
	public void listening() {
		this.queues.all().forEach(ResourceQueue::onListening);
	}

}
