package io.holdfast;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a lease is needed that is no longer held: it was not renewed in time, it
 * was revoked, or its holder has released it. Another holder may have the key by now.
 *
 * @since 0.1.0
 */
public class LeaseLostException extends HoldfastException {

	private static final long serialVersionUID = 1L;

	/**
	 * Create the exception.
	 * @param key the key as its user named it
	 * @param message the loss and its reason
	 */
	public LeaseLostException(String key, String message) {
		super(key, message, null);
	}

	/**
	 * Create the exception.
	 * @param key the key as its user named it
	 * @param message the loss and its reason
	 * @param cause the cause of the loss, or {@code null}
	 */
	public LeaseLostException(String key, String message, @Nullable Throwable cause) {
		super(key, message, cause);
	}

}
