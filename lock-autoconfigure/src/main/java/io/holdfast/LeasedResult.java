package io.holdfast;

import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

/**
 * The outcome of code that runs only if its lock or permits are acquired: the code's
 * value, or "not acquired". Unlike {@link java.util.Optional}, it can hold a {@code null}
 * value. Immutable.
 *
 * @param <T> the type of the value
 * @since 0.1.0
 */
public final class LeasedResult<T extends @Nullable Object> {

	private static final LeasedResult<?> NOT_ACQUIRED = new LeasedResult<>(false, null);

	private final boolean acquired;

	private final @Nullable T value;

	private LeasedResult(boolean acquired, @Nullable T value) {
		this.acquired = acquired;
		this.value = value;
	}

	/**
	 * Return the outcome of code that has run.
	 * @param <T> the type of the value
	 * @param value the value of the code
	 * @return the outcome
	 */
	public static <T extends @Nullable Object> LeasedResult<T> of(T value) {
		return new LeasedResult<>(true, value);
	}

	/**
	 * Return the outcome of code that has not run because its lock or permits were not
	 * acquired.
	 * @param <T> the type of the value
	 * @return the outcome
	 */
	@SuppressWarnings("unchecked")
	public static <T extends @Nullable Object> LeasedResult<T> notAcquired() {
		return (LeasedResult<T>) NOT_ACQUIRED;
	}

	/**
	 * Return whether the lock or permits were acquired, and the code has run.
	 * @return whether the code has run
	 */
	public boolean isAcquired() {
		return this.acquired;
	}

	/**
	 * Return the value of the code.
	 * @return the value
	 * @throws NoSuchElementException if the code has not run
	 */
	public T get() {
		return orElseThrow(() -> new NoSuchElementException(
				"There is no value: the lock or permits were not acquired, so the code has not run. Ask isAcquired() before"));
	}

	/**
	 * Return the value of the code, or a default value if the code has not run.
	 * @param other the default value
	 * @return the value
	 */
	public T orElse(T other) {
		return this.acquired ? value() : other;
	}

	/**
	 * Return the value of the code, or a supplied value if the code has not run.
	 * @param other the supplier of the value, which runs without the lease
	 * @return the value
	 */
	public T orElseGet(Supplier<? extends T> other) {
		return this.acquired ? value() : other.get();
	}

	/**
	 * Return the value of the code, or throw an exception if the code has not run.
	 * @param <X> the type of the exception
	 * @param failure the supplier of the exception
	 * @return the value
	 * @throws X if the code has not run
	 */
	public <X extends Throwable> T orElseThrow(Supplier<? extends X> failure) throws X {
		if (!this.acquired) {
			throw failure.get();
		}
		return value();
	}

	/** Null only if the type allows it. */
	@SuppressWarnings("NullAway")
	private T value() {
		return this.value;
	}

	@Override
	public boolean equals(@Nullable Object other) {
		return other instanceof LeasedResult<?> that && this.acquired == that.acquired
				&& Objects.equals(this.value, that.value);
	}

	@Override
	public int hashCode() {
		return Objects.hash(this.acquired, this.value);
	}

	@Override
	public String toString() {
		return this.acquired ? "LeasedResult[" + this.value + "]" : "LeasedResult, not acquired";
	}

}
