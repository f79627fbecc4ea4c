package io.holdfast.annotation;

/**
 * Outcome of a call whose lock or permits cannot be requested, because the store (Redis)
 * fails or does not answer. For a store that fails while the method runs, see
 * {@link OnLoss}.
 *
 * @since 0.1.0
 */
public enum OnStoreFailure {

	/**
	 * The default of the application: {@code holdfast.lock.on-store-failure} or
	 * {@code holdfast.semaphore.on-store-failure}, which is {@link #THROW} unless it is
	 * set.
	 */
	DEFAULT,

	/** The caller gets a {@link io.holdfast.LeaseStoreException}. */
	THROW,

	/**
	 * The annotation's fallback is called, as after a timeout. An additional last
	 * parameter of the fallback must be of type {@link io.holdfast.HoldfastException} or
	 * a supertype. As the application's default, applies only to methods that have such a
	 * fallback; for other methods, the exception is thrown.
	 */
	FALLBACK,

	/**
	 * The method runs without permits, so that more calls than the limit may run at once
	 * until the store answers again. A warning is logged once, until the store grants or
	 * refuses permits again. {@link io.holdfast.PermitLease#current()} then returns a
	 * lease that is not held. Only for {@link Semaphore @Semaphore}: a method never runs
	 * without its lock.
	 */
	PROCEED

}
