package io.holdfast.engine;

import io.holdfast.LockHolder;
import io.holdfast.engine.InstanceReport.Entry;
import io.holdfast.engine.store.FleetStore.TokenState;
import org.jspecify.annotations.Nullable;

/**
 * Directory of the instances that share the store of this one. Its questions block until
 * the store or the instances have answered, and throw
 * {@link io.holdfast.LeaseStoreException} if the store fails. Thread-safe.
 */
public interface InstanceDirectory {

	/** Have the question of another instance answered, in the background. */
	void answer(String question);

	/**
	 * Look an instance up in the register.
	 * @param instance the name of the instance, 8 hexadecimal digits
	 * @return the instance, or {@code null} if it is not registered
	 */
	@Nullable LockHolder holder(String instance);

	/**
	 * Ask all instances for a holder.
	 * @param key the key that is held
	 * @param holder the holder in the store
	 * @return the report of its instance, or {@code null} if that is silent
	 */
	@Nullable Entry find(String key, TokenState holder);

}
