package io.holdfast;

import java.time.Duration;
import java.util.Collection;
import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when an optimistic transaction was given up and wrote nothing: a watched key was
 * changed during each attempt, or the thread was interrupted before or between attempts.
 *
 * @since 0.1.0
 */
public class OptimisticTransactionException extends HoldfastException {

	private static final long serialVersionUID = 1L;

	private final String[] keys;

	private final int attempts;

	private final Duration elapsed;

	/**
	 * Create the exception.
	 * @param keys the watched keys
	 * @param attempts the number of attempts
	 * @param elapsed the duration of all attempts and of the pauses between them
	 * @param cause the interrupt, or {@code null} if the transaction ran out of attempts
	 * or time
	 */
	public OptimisticTransactionException(Collection<String> keys, int attempts, Duration elapsed,
			@Nullable InterruptedException cause) {
		super(String.join(", ", keys), text(keys, attempts, elapsed, cause != null), cause);
		this.keys = keys.toArray(String[]::new);
		this.attempts = attempts;
		this.elapsed = elapsed;
	}

	private static String text(Collection<String> keys, int attempts, Duration elapsed, boolean interrupted) {
		String course = "The optimistic transaction on " + keys + " wrote nothing and was "
				+ (interrupted ? "interrupted" : "given up") + " after " + attempts
				+ ((attempts == 1) ? " attempt" : " attempts") + " in " + elapsed.toMillis() + " ms";
		return interrupted ? course
				: course + ": each time others changed a watched key. Allow more attempts or time"
						+ " (holdfast.optimistic.max-attempts, holdfast.optimistic.max-time),"
						+ " or use a lock where many write to the same keys (@DistributedLock)";
	}

	/**
	 * Return the watched keys.
	 * @return the keys, without duplicates
	 */
	public List<String> getKeys() {
		return List.of(this.keys);
	}

	/**
	 * Return the number of attempts.
	 * @return the number of attempts, 0 if the thread was interrupted before the first
	 * attempt
	 */
	public int getAttempts() {
		return this.attempts;
	}

	/**
	 * Return the duration of all attempts and of the pauses between them.
	 * @return the time from the call to its failure
	 */
	public Duration getElapsed() {
		return this.elapsed;
	}

}
