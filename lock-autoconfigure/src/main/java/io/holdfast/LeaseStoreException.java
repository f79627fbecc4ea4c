package io.holdfast;

import org.jspecify.annotations.Nullable;

/**
 * The store of the leases (Redis) refused a command or did not answer in time. Says
 * nothing about the holder of the key. Optimistic transactions throw it, too.
 *
 * @since 0.1.0
 */
public class LeaseStoreException extends HoldfastException {

	private static final long serialVersionUID = 1L;

	/**
	 * Create the exception.
	 * @param key the key as its user named it
	 * @param message the attempt and its failure
	 * @param cause the store's error, or {@code null} if it did not answer
	 */
	public LeaseStoreException(String key, String message, @Nullable Throwable cause) {
		super(key, message, cause);
	}

}
