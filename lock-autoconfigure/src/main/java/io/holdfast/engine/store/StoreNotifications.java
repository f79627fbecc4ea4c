package io.holdfast.engine.store;

/**
 * Receiver of a store's notifications of grants by commands of other waiters and holders.
 * Called on any thread. Methods must not block.
 */
public interface StoreNotifications {

	/**
	 * Process a grant to a waiting token of this instance.
	 * @param resource the resource
	 * @param token the token that was granted
	 * @param fence the fencing token of the grant
	 * @param ttlMillis the duration of the grant from its beginning, in milliseconds; 0
	 * if the token was removed from the queue without a grant, and must ask again for the
	 * reason
	 */
	void granted(Resource resource, String token, long fence, long ttlMillis);

	/**
	 * Process an unconfirmed grant to a waiting token of this instance. The grant is
	 * valid only after the token has asked again.
	 * @param resource the resource
	 * @param token the token that was granted
	 * @param fence the fencing token of the grant
	 */
	default void grantedUnconfirmed(Resource resource, String token, long fence) {
		throw new UnsupportedOperationException("This store confirms what it grants");
	}

	/**
	 * Process the forced release of a token of this instance. All grants to the token so
	 * far have ended.
	 * @param token the token
	 * @param nextFence the fencing token below which the token's grants have ended
	 */
	default void ended(String token, long nextFence) {
	}

	/**
	 * Process a request for a report of this instance's holds and waits; see
	 * {@link InstanceStore#ask}.
	 * @param report the name of the report
	 */
	default void reportWanted(String report) {
	}

	/**
	 * Process a change of the subscription, by which notifications may have been missed.
	 * Waiters must ask again.
	 */
	void listening();

}
