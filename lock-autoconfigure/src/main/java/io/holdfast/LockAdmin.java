package io.holdfast;

/**
 * Administrators' calls on locks, of a {@link LockService#admin() LockService}: they
 * break promises of the service to its users. Thread-safe.
 *
 * @since 0.1.0
 */
public interface LockAdmin {

	/**
	 * Release a key in the name of its owner, and pass it to the next waiter; one that is
	 * locked by readers in all their names. For administrators: it breaks the exclusion
	 * until the owner's instance is told, which is soon; at the owner's next renewal if
	 * that message is lost. Logged as a warning. Blocks until the store answers. If it
	 * does not, an owner in this instance has lost its lease all the same.
	 * @param key the key to release
	 * @return whether it had an owner
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws LeaseStoreException if the store failed
	 */
	boolean forceRelease(String key);

	/**
	 * Release only the leases of one mode, as {@link #forceRelease(String)} does: the
	 * readers, or an exclusive owner with its nested leases. Blocks until the store
	 * answers.
	 * @param key the key to release
	 * @param mode whose leases to release
	 * @return whether there was such a lease
	 * @throws IllegalArgumentException if the key is not allowed
	 * @throws LeaseStoreException if the store failed
	 */
	boolean forceRelease(String key, LockMode mode);

}
