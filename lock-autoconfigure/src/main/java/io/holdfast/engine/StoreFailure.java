package io.holdfast.engine;

import java.time.Duration;
import java.util.concurrent.TimeoutException;

import org.jspecify.annotations.Nullable;

/**
 * How a command of a {@link LeaseStore} fails.
 */
public final class StoreFailure extends RuntimeException {

	private static final long serialVersionUID = 1L;

	private final boolean temporary;

	/**
	 * Create the failure.
	 * @param message what went wrong and, where it can be known, what to do about it
	 * @param temporary whether the same command may succeed later without anybody's help:
	 * a lost connection, a fail-over under way; not a missing right or a wrong type
	 * @param cause the driver's error, or {@code null}
	 */
	public StoreFailure(String message, boolean temporary, @Nullable Throwable cause) {
		super(message, cause);
		this.temporary = temporary;
	}

	static StoreFailure silence(Duration patience, TimeoutException cause) {
		return new StoreFailure("the store (Redis) did not answer within " + patience.toMillis() + " ms", true, cause);
	}

	/**
	 * Whether the same command may succeed later without anybody's help.
	 * @return whether to try again
	 */
	public boolean isTemporary() {
		return this.temporary;
	}

}
