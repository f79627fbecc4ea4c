package io.holdfast;

import java.time.Duration;
import java.util.Collection;
import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * An optimistic transaction was given up, and wrote nothing: others changed a watched key
 * in each of its attempts, or its thread was interrupted between them.
 *
 * @since 0.1.0
 */
public class OptimisticTransactionException extends HoldfastException {

	private static final long serialVersionUID = 1L;

	private final String[] keys;

	private final int attempts;

	private final Duration elapsed;

	private final String[] changedKeys;

	/**
	 * Create the exception.
	 * @param keys the watched keys
	 * @param attempts how many attempts were made
	 * @param elapsed how long they took, with the pauses between them
	 * @param changedKeys those of the keys that were seen to be changed by others
	 * @param cause the interrupt, or {@code null} if it ran out of attempts or time
	 */
	public OptimisticTransactionException(Collection<String> keys, int attempts, Duration elapsed,
			Collection<String> changedKeys, @Nullable InterruptedException cause) {
		super(String.join(", ", keys), text(keys, attempts, elapsed, changedKeys, cause != null), cause);
		this.keys = keys.toArray(String[]::new);
		this.attempts = attempts;
		this.elapsed = elapsed;
		this.changedKeys = changedKeys.toArray(String[]::new);
	}

	private static String text(Collection<String> keys, int attempts, Duration elapsed, Collection<String> changedKeys,
			boolean interrupted) {
		String course = "The optimistic transaction on " + keys + " wrote nothing and was "
				+ (interrupted ? "interrupted" : "given up") + " after " + attempts
				+ ((attempts == 1) ? " attempt" : " attempts") + " in " + elapsed.toMillis() + " ms";
		if (interrupted) {
			return course;
		}
		return course + ": each time others changed a watched key ("
				+ (changedKeys.isEmpty() ? "which one is not known" : "seen to change: " + changedKeys)
				+ "). Allow more attempts or time (holdfast.optimistic.max-attempts, holdfast.optimistic.max-time),"
				+ " or use a lock where many write to the same keys (@DistributedLock)";
	}

	/**
	 * Return the keys that were watched.
	 * @return the keys, each once
	 */
	public List<String> getKeys() {
		return List.of(this.keys);
	}

	/**
	 * Return how many attempts were made.
	 * @return the count, 0 if the thread was interrupted before the first
	 */
	public int getAttempts() {
		return this.attempts;
	}

	/**
	 * Return how long the attempts took, with the pauses between them.
	 * @return the time from the call to its failure
	 */
	public Duration getElapsed() {
		return this.elapsed;
	}

	/**
	 * Those of the watched keys that were seen to be changed by others. If several are
	 * watched, the first attempt does not look; nor can it be seen when a key was written
	 * again with its former value, or has a value that is too big to be compared.
	 * @return the keys, empty if it is not known which they are
	 */
	public List<String> getChangedKeys() {
		return List.of(this.changedKeys);
	}

}
