package io.holdfast.aop;

import java.util.List;

import io.holdfast.HoldfastException;
import io.holdfast.KeyNamespace;
import io.holdfast.Lease;
import io.holdfast.LeaseRequest;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockRequest;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.NotAcquiredStrategy;
import io.holdfast.SemaphoreRequest;
import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.OnStoreFailure;
import io.holdfast.annotation.ReleaseAfter;
import io.holdfast.async.CallResult;
import org.aopalliance.intercept.MethodInvocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.core.Nullness;
import org.springframework.util.ClassUtils;

/**
 * Parsed annotation of a method, which creates the leases of calls. Thread-safe.
 *
 * @param handler the handler of the annotation's type
 * @param annotatedMethod the annotation
 * @param returnKind the kind of the method's result
 * @param scheduled whether Spring schedules the method, and calls a reactive method only
 * once for all of its runs
 * @param condition the condition under which a call needs the lease, or {@code null} for
 * always
 * @param key the expression for the key of a call, or {@code null} if all calls have the
 * same key
 * @param keyPrefix the text in front of each key
 * @param requestTemplate the request of all calls, except for the key if there is an
 * expression
 * @param declaredHandler the handler of calls that do not get the lease
 * @param onStoreFailure the outcome of a failure of the store: {@code FALLBACK} calls the
 * handler; never {@code DEFAULT}
 * @param onLoss the outcome of a loss
 * @param releaseAfter the moment of the release
 * @param serviceName the name of the bean that grants the lease, or empty
 * @param inTurns whether each instance runs this scheduled method in its turn, because it
 * waits for its lock
 */
record LeasedMethod(LeaseAnnotationHandler handler, AnnotatedMethod annotatedMethod, ReturnKind returnKind,
		boolean scheduled, @Nullable CallExpression condition, @Nullable CallExpression key, String keyPrefix,
		LeaseRequest<?> requestTemplate, NotAcquiredHandler declaredHandler, OnStoreFailure onStoreFailure,
		OnLoss onLoss, ReleaseAfter releaseAfter, String serviceName, boolean inTurns) {

	private static final Log logger = LogFactory.getLog(LeasedMethod.class);

	/** Return whether the lease is of a lock, as opposed to permits. */
	boolean isLock() {
		return this.requestTemplate instanceof LockRequest;
	}

	/** Return whether databases refuse the transactions of a late holder. */
	boolean isFenced() {
		return this.requestTemplate instanceof LockRequest lock && lock.isFenced();
	}

	/** Return whether the permits of a failed run are kept for a minHold. */
	private boolean isKeptAfterFailure() {
		return !isLock() && !this.requestTemplate.minHold().isZero();
	}

	/**
	 * Return the lease to acquire for a call, or {@code null} if the call needs none.
	 * @throws IllegalArgumentException if an expression yields no key or no boolean
	 */
	@Nullable MethodLease lease(MethodInvocation invocation) {
		LeaseRequest<?> request = request(invocation);
		if (request == null) {
			return null;
		}
		return lease(invocation, request, namespace(),
				(this.returnKind != ReturnKind.PLAIN) ? notAcquiredHandler() : null,
				isKeptAfterFailure() ? MethodLease.Attempts.of(invocation) : null);
	}

	/**
	 * Return a source of leases for a reactive call: each subscription evaluates the
	 * expressions again and gets a new lease. Namespace and strategy are those of the
	 * current thread, because later threads may be outside their scopes.
	 * @return the source of the next lease, which returns {@code null} if the call needs
	 * none
	 */
	CallResult.Code<MethodLease> leases(MethodInvocation invocation) {
		NotAcquiredHandler handler = notAcquiredHandler();
		// The runs of a scheduled method are not retries of one another.
		MethodLease.Attempts attempts = (isKeptAfterFailure() && !this.scheduled) ? new MethodLease.Attempts() : null;
		KeyNamespace namespace;
		try {
			KeyNamespace current = namespace();
			namespace = (current != null) ? fixed(current.current()) : null;
		}
		catch (Throwable missing) {
			// A call whose condition is false needs no namespace.
			return () -> {
				if (request(invocation) != null) {
					throw missing;
				}
				return null;
			};
		}
		return () -> {
			LeaseRequest<?> request = request(invocation);
			return (request != null) ? lease(invocation, request, namespace, handler, attempts) : null;
		};
	}

	private @Nullable KeyNamespace namespace() {
		ApplicationBean<KeyNamespace> bean = this.handler.namespace;
		return (bean != null) ? bean.get() : null;
	}

	private static KeyNamespace fixed(String current) {
		return () -> current;
	}

	private MethodLease lease(MethodInvocation invocation, LeaseRequest<?> request, @Nullable KeyNamespace namespace,
			@Nullable NotAcquiredHandler handler, MethodLease.@Nullable Attempts attempts) {
		LeaseRequest<?> named = request;
		if (namespace != null) {
			named = (request instanceof LockRequest lock) ? namespace.apply(lock)
					: namespace.apply((SemaphoreRequest) request);
		}
		return new MethodLease(this, invocation, service(), named, handler, attempts);
	}

	/**
	 * Return the request of a call, or {@code null} if the call needs no lease.
	 * @throws IllegalArgumentException if an expression yields no key or no boolean
	 */
	private @Nullable LeaseRequest<?> request(MethodInvocation invocation) {
		@Nullable Object[] arguments = invocation.getArguments();
		if (this.condition != null && !this.condition.holds(invocation.getThis(), arguments)) {
			return null;
		}
		if (this.key == null) {
			return this.requestTemplate;
		}
		List<String> keys = this.key.keys(invocation.getThis(), arguments, this.keyPrefix, isLock());
		try {
			return (this.requestTemplate instanceof LockRequest lock && keys.size() > 1) ? lock.only(keys)
					: this.requestTemplate.only(keys.get(0));
		}
		catch (IllegalArgumentException ex) {
			throw this.key.failed("text that cannot be a key: " + ex.getMessage(), ex);
		}
	}

	/**
	 * Return the service. Looked up on the caller's thread, as a second lease may be
	 * acquired on another thread.
	 */
	private Object service() {
		Object known = this.handler.services.get(this.serviceName);
		return (known != null) ? known : this.handler.findService(this);
	}

	/** Return whether the method's own transaction raises the token of a fenced call. */
	boolean leavesTokenToTransaction(MethodInvocation invocation) {
		return OwnTransaction.raisesToken(invocation, this.annotatedMethod.targetClass(), this.handler.beans());
	}

	/** Note that the store has answered, so that its next failure is logged. */
	void onAnswer(Object service) {
		this.handler.failing.remove(service);
	}

	/**
	 * Return a lease that is not held if the method may run without permits; otherwise
	 * throw the exception.
	 */
	Lease unguarded(Object service, LeaseRequest<?> request, HoldfastException ex) {
		if (ex instanceof NotAcquiredException refused
				&& (refused.getReason() == Reason.TIMED_OUT || refused.getReason() == Reason.EXCEEDS_LIMIT)) {
			// This refusal is an answer of the store.
			onAnswer(service);
		}
		if (!(ex instanceof LeaseStoreException failure) || this.onStoreFailure != OnStoreFailure.PROCEED
				|| !(request instanceof SemaphoreRequest permits)) {
			throw ex;
		}
		if (this.handler.failing.add(service)) {
			logger.warn(this.annotatedMethod
					+ " lets the method run without a permit, as onStoreFailure is PROCEED. Further calls that do so "
					+ "are not logged until the store answers again. " + ex.getMessage());
		}
		return new UnguardedPermits(permits, failure);
	}

	/** Warn once of a fenced method whose call has begun no checked transaction. */
	void warnOfUnchecked() {
		if (this.handler.unchecked.add(this.annotatedMethod.method())) {
			logger.warn(this.annotatedMethod + " is fenced, but a call began no transaction that was checked: "
					+ "what it wrote without one, in a read-only one or on another thread, a late holder writes, too. "
					+ "Write in a transaction of the fenced DataSource, or leave out fenced. Further calls are not logged");
		}
	}

	/**
	 * Return the handler of calls that do not get the lease, for a call of the current
	 * thread.
	 */
	NotAcquiredHandler notAcquiredHandler() {
		if (this.declaredHandler != NotAcquiredHandler.THROW) {
			return this.declaredHandler;
		}
		try {
			NotAcquiredStrategy strategy = this.handler.strategy.get();
			return (strategy != null) ? (call, ex) -> answer(strategy, call, ex) : this.declaredHandler;
		}
		catch (Throwable missing) {
			// The strategy may not be needed. Its failure must not hide the reason why a
			// call got no lease.
			return (call, ex) -> {
				ex.addSuppressed(missing);
				throw ex;
			};
		}
	}

	/** Call the application's strategy, and refuse a result of a wrong type. */
	private @Nullable Object answer(NotAcquiredStrategy strategy, MethodInvocation call, HoldfastException ex)
			throws Throwable {
		if (!(ex instanceof NotAcquiredException notAcquired)) {
			throw ex;
		}
		AnnotatedMethod method = this.annotatedMethod;
		boolean suspends = method.isSuspending();
		Class<?> type = suspends ? method.returned().toClass() : call.getMethod().getReturnType();
		Object result = strategy.answer(call.getMethod(), notAcquired);
		if (type == void.class) {
			return null;
		}
		boolean fits = (result != null) ? ClassUtils.isAssignableValue(type, result)
				: (suspends || this.returnKind == ReturnKind.PLAIN)
						&& Nullness.forMethodReturnType(method.method()) != Nullness.NON_NULL;
		if (!fits) {
			throw new IllegalStateException("The NotAcquiredStrategy " + strategy.getClass().getName() + " gave "
					+ ((result != null) ? "a " + result.getClass().getName() : "null") + " for " + method + ": give "
					+ (suspends ? "a " + type.getName() + " itself" : "a result of its type") + ", or throw", ex);
		}
		return result;
	}

}
