package io.holdfast.redis.notify;

import org.jspecify.annotations.Nullable;

/**
 * One attempt to subscribe, and what comes of it.
 */
interface NotificationSubscription extends Runnable {

	/** Connect and subscribe. Blocks for as long as a driver likes. */
	@Override
	void run();

	/**
	 * Unsubscribe and close the connection. Blocks shortly for an attempt that is under
	 * way.
	 */
	void close();

	/** Listener to a subscription, called on any thread. */
	interface SubscriptionOwner {

		/**
		 * Note that a subscription stands, for the first time or again; whether it is of
		 * use is told by the first message that comes back.
		 */
		void onSubscribed(NotificationSubscription subscription);

		/** Note that its connection broke; the driver may open it again. */
		void onDisconnected(NotificationSubscription subscription);

		/** Note that Redis has ended a subscription, and knows that it has. */
		void onEnded(NotificationSubscription subscription);

		/**
		 * Note that a subscription failed or broke.
		 * @param subscription the subscription
		 * @param error why, or {@code null}
		 */
		void onLost(NotificationSubscription subscription, @Nullable Throwable error);

		/** Take a message. */
		void onMessage(NotificationSubscription subscription, byte[] body);

	}

}
