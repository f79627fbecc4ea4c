package io.holdfast.annotation;

/**
 * The outcome of a call whose lock or permits cannot be asked for, because the store
 * (Redis) fails or does not answer. Not that of a store which is in trouble while the
 * method runs: see {@link OnLoss}.
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
	 * The fallback of the annotation is called, as if others held the lock or permits.
	 * Its last parameter, if it has one more than the method, takes a
	 * {@link io.holdfast.HoldfastException} or a supertype of it. As the default of the
	 * application it concerns the methods that have such a fallback; the others throw.
	 */
	FALLBACK,

	/**
	 * The method runs without permits: more calls than the limit may run at once until
	 * the store answers again. A warning is logged once for each outage. The lease of
	 * such a call ({@link io.holdfast.PermitLease#current()}) is not held. Only for
	 * {@link Semaphore @Semaphore}: a method never runs without its lock.
	 */
	PROCEED

}
