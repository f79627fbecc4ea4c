package io.holdfast;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;

/**
 * Root of Holdfast's exceptions for requests, leases and optimistic transactions. Each
 * exception has the key of the request. Messages never contain an owner's token.
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
	 * Return the key of the request, with its {@linkplain KeyNamespace namespace} in
	 * front.
	 * @return the key; for several keys, the failed key or a text that lists the keys;
	 * {@code *} for a command without a key, such as a look at the register of instances
	 */
	public String getKey() {
		return this.key;
	}

}
