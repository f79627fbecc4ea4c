package io.holdfast;

import org.jspecify.annotations.Nullable;

/**
 * Code that runs under a lease and returns a value.
 *
 * @param <T> the type of the value
 * @param <E> the type of the checked exceptions that it throws
 * @since 0.1.0
 */
@FunctionalInterface
public interface LeasedCall<T extends @Nullable Object, E extends Throwable> {

	/**
	 * Run the code.
	 * @return the code's value
	 * @throws E of the code, unchanged
	 */
	T call() throws E;

}
