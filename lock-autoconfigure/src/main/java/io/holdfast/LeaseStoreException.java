package io.holdfast;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when the store of the leases (Redis) refused a command or did not answer in
 * time. It does not mean that another owner holds the key. Optimistic transactions throw
 * it, too.
 *
 * @since 0.1.0
 */
public class LeaseStoreException extends HoldfastException {

	private static final long serialVersionUID = 1L;

	/**
	 * Create the exception.
	 * @param key the key as its user named it
	 * @param message the failed operation and the reason
	 * @param cause the store's error, or {@code null} if none is known
	 */
	public LeaseStoreException(String key, String message, @Nullable Throwable cause) {
		super(key, message, cause);
	}

}
