package io.holdfast.redis;

import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.StoreNotifications;

/**
 * Listener where grants are to be confirmed: a waiter that is told asks by itself, and
 * the answer to that is confirmed as any other.
 *
 * @param notifications where they would go
 */
record UnconfirmedNotifications(StoreNotifications notifications) implements StoreNotifications {

	@Override
	public void granted(Resource resource, String token, long fence, long ttlMillis) {
		if (ttlMillis > 0) {
			this.notifications.grantedUnconfirmed(resource, token, fence);
		}
		else {
			this.notifications.granted(resource, token, fence, ttlMillis);
		}
	}

	@Override
	public void ended(String token, long nextFence) {
		this.notifications.ended(token, nextFence);
	}

	@Override
	public void reportWanted(String report) {
		this.notifications.reportWanted(report);
	}

	@Override
	public void listening() {
		this.notifications.listening();
	}

}
