package io.holdfast.engine.store;

/**
 * Listener that a store tells of grants by the commands of other waiters and holders.
 * Called on any thread, which must not be blocked.
 */
public interface StoreNotifications {

	/**
	 * The store granted the request of a waiting token of this instance.
	 * @param resource the resource
	 * @param token the token that was granted
	 * @param fence the fencing token of the grant
	 * @param ttlMillis how long the grant lasts from when it was made; 0 if there was
	 * none, but the token was taken out of the queue and should ask again to learn why
	 */
	void granted(Resource resource, String token, long fence, long ttlMillis);

	/**
	 * The store granted the request of a waiting token of this instance, but the grant is
	 * not confirmed yet: it counts only once the token has asked again.
	 * @param resource the resource
	 * @param token the token that was granted
	 * @param fence the fencing token of the grant
	 */
	default void grantedUnconfirmed(Resource resource, String token, long fence) {
		throw new UnsupportedOperationException("This store confirms what it grants");
	}

	/**
	 * A lease of this instance was released by force: the token has nothing in the store
	 * any more of all that it was granted before.
	 * @param token the token that held it
	 * @param nextFence above the fencing tokens of all grants before, and not above those
	 * of later ones
	 */
	default void ended(String token, long nextFence) {
	}

	/**
	 * A report of the holds and waits of this instance is wanted; see
	 * {@link InstanceStore#ask}.
	 * @param report names the report
	 */
	default void reportWanted(String report) {
	}

	/**
	 * Wake-ups may have been missed: they are received from now on, or some of them are
	 * not any more. Waiters are to ask.
	 */
	void listening();

}
