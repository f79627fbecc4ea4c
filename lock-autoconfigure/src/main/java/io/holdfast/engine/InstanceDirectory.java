package io.holdfast.engine;

import io.holdfast.LockHolder;
import io.holdfast.engine.InstanceReport.Entry;
import io.holdfast.engine.store.LeaseStore.TokenState;
import org.jspecify.annotations.Nullable;

/**
 * Directory of the instances that share the store of this instance. Queries block until
 * the store or the instances have answered, and throw
 * {@link io.holdfast.LeaseStoreException} if the store fails. Thread-safe.
 */
public interface InstanceDirectory {

	/** Answer the query of another instance, in the background. */
	void answer(String question);

	/**
	 * Find an instance in the register.
	 * @param instance the name of the instance, 8 hexadecimal digits
	 * @return the instance, or {@code null} if it is not registered
	 */
	@Nullable LockHolder holder(String instance);

	/**
	 * Ask all instances for details of a holder.
	 * @param key the held key
	 * @param holder the holder in the store
	 * @return the report of the holder's instance, or {@code null} if the instance does
	 * not answer
	 */
	@Nullable Entry find(String key, TokenState holder);

}
