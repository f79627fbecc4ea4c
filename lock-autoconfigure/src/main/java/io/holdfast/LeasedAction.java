package io.holdfast;

/**
 * Code that runs under a lease and returns nothing.
 *
 * @param <E> the type of the checked exceptions that it throws
 * @since 0.1.0
 */
@FunctionalInterface
public interface LeasedAction<E extends Throwable> {

	/**
	 * Run the code.
	 * @throws E of the code, unchanged
	 */
	void run() throws E;

}
