package io.holdfast;

import org.jspecify.annotations.Nullable;

/**
 * A lease is relied on that is not held any more: it could not be renewed in time, it was
 * taken away, or its holder has released it. Another holder may have the key by now.
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
	 * @param cause the error behind it, or {@code null}
	 */
	public LeaseLostException(String key, String message, @Nullable Throwable cause) {
		super(key, message, cause);
	}

}
