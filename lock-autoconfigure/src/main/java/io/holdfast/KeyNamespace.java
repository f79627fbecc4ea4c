package io.holdfast;

/**
 * Namespace of the keys of locks and semaphores, such as the tenant of the current call:
 * a text that comes before each key, with a colon. The same key in two namespaces is two
 * locks. A bean of this type is used for annotated methods, and for all that Holdfast's
 * services take a key for: requests, views, status, limits and forced releases. A bean
 * with a scope is that of the current call. Leases, exceptions, events and endpoints show
 * whole keys, as {@code acme:stock:SKU0001}.
 *
 * <p>
 * A request may {@linkplain LockRequest#namespace(String) have a namespace of its own};
 * then this one is not asked.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface KeyNamespace {

	/**
	 * Return the current namespace. Called once for each request by the caller's thread:
	 * for annotated methods when they are called, also for later subscriptions to their
	 * result, for a view when it is made, and for a reactive service by the thread that
	 * subscribes. Must not block, and must be thread-safe.
	 * @return the namespace, without a colon; empty for none, whose keys are then those
	 * of a namespace if they begin like it; neither {@code null} nor blank. With the
	 * colon and the key it must be allowed as a key
	 * @throws RuntimeException if there is no namespace, and should be: the caller gets
	 * it, and nothing is acquired
	 */
	String current();

	/**
	 * Return a request in the current namespace. For callers: do not override it, as
	 * later subscriptions to the result of an annotated method use the text that
	 * {@link #current()} returned for the call.
	 * @param <R> the type of the request
	 * @param request the request
	 * @return the request in this namespace, or itself if it has one
	 * @throws IllegalArgumentException if a key is not allowed in it
	 */
	default <R extends LeaseRequest<R>> R apply(R request) {
		return (request.namespace() != null) ? request : request.namespace(current());
	}

}
