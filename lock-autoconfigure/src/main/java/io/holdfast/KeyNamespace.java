package io.holdfast;

/**
 * Namespace of the keys of locks and semaphores, such as the tenant of the current call.
 * Each key is prefixed with the namespace and a colon, so that the same key in two
 * namespaces means two locks. A bean of this type applies to annotated methods and to
 * every method of Holdfast's services that takes a key: requests, views, status, limits
 * and forced releases. The bean may have a scope, such as the request scope. Leases,
 * exceptions, events and endpoints show keys with their prefix, such as
 * {@code acme:stock:SKU0001}.
 *
 * <p>
 * Not called for a request that {@linkplain LockRequest#namespace(String) has a namespace
 * of its own}.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface KeyNamespace {

	/**
	 * Return the current namespace. Called once per request, on the caller's thread. For
	 * an annotated method, called once per call, and not again by later subscriptions to
	 * the result. For a view, called when the view is created. For a reactive service,
	 * called on the subscribing thread. Must be thread-safe and must not block.
	 * @return the namespace, without a colon, neither {@code null} nor blank; empty for
	 * no namespace. Without a namespace, a key such as {@code acme:stock} is the key
	 * {@code stock} of the namespace {@code acme}. Namespace, colon and key together must
	 * be allowed as a key
	 * @throws RuntimeException if a namespace is required but missing; the caller gets
	 * the exception, and nothing is acquired
	 */
	String current();

	/**
	 * Return a request in the current namespace. Do not override this method: annotated
	 * methods do not call it, but use the result of {@link #current()}.
	 * @param <R> the type of the request
	 * @param request the request
	 * @return the request in the current namespace; the given request if it has a
	 * namespace already
	 * @throws IllegalArgumentException if a key is not allowed with its prefix
	 */
	default <R extends LeaseRequest<R>> R apply(R request) {
		return (request.namespace() != null) ? request : request.namespace(current());
	}

}
