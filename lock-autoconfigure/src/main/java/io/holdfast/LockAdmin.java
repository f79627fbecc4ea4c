package io.holdfast;

/**
 * Administrative operations on the locks of a {@link LockService#admin() LockService}.
 * They break guarantees that the service gives to its users. Thread-safe.
 *
 * @since 0.1.0
 */
public interface LockAdmin {

	/**
	 * Release a key by force, and grant it to the next waiter. Revokes the lease of the
	 * exclusive owner with its nested leases, or the leases of all readers. Two owners
	 * may run at once until the former owner's instance is notified: for a short time, or
	 * until the former owner's next renewal if the notification is lost. Logged as a
	 * warning. Blocks until the store answers. If the store stops answering during the
	 * release, owners in this instance may lose their leases all the same.
	 * @param key the key to release
	 * @return whether an owner was released
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws LeaseStoreException if the store failed
	 */
	boolean forceRelease(String key);

	/**
	 * Release a key by force, as {@link #forceRelease(String)} does, if it is held in the
	 * given mode: by readers, or by an exclusive owner with its nested leases. Blocks
	 * until the store answers.
	 * @param key the key to release
	 * @param mode the mode of the leases to release
	 * @return whether an owner in this mode was released
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws LeaseStoreException if the store failed
	 * @throws NullPointerException if the mode is null
	 */
	boolean forceRelease(String key, LockMode mode);

}
