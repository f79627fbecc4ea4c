package io.holdfast;

import org.jspecify.annotations.Nullable;

/**
 * A lease ended before its holder released it: it could not be renewed in time, or it was
 * taken away. Somebody else may hold the key by now.
 */
public class LeaseLostException extends HoldfastException {

	private static final long serialVersionUID = 1L;

	/**
	 * Create the exception.
	 * @param key the key as its user named it
	 * @param message what was lost, and why
	 */
	public LeaseLostException(String key, String message) {
		super(key, message, null);
	}

	/**
	 * Create the exception.
	 * @param key the key as its user named it
	 * @param message what was lost, and why
	 * @param cause the error behind it, or {@code null}
	 */
	public LeaseLostException(String key, String message, @Nullable Throwable cause) {
		super(key, message, cause);
	}

}
