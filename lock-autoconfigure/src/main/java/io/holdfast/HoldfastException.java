package io.holdfast;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;

/**
 * Root of Holdfast's exceptions. Each exception has the key of the request. Messages
 * never contain an owner's token.
 *
 * @since 0.1.0
 */
public abstract class HoldfastException extends RuntimeException {

	private static final long serialVersionUID = 1L;

	private final String key;

	/**
	 * Create the exception, for subclasses.
	 * @param key the key as its user named it
	 * @param message the message
	 * @param cause the cause, or {@code null}
	 */
	protected HoldfastException(String key, String message, @Nullable Throwable cause) {
		super(SingleLine.of(message), cause);
		this.key = key;
	}

	/**
	 * Return the key as its user named it.
	 * @return the key
	 */
	public String getKey() {
		return this.key;
	}

}
