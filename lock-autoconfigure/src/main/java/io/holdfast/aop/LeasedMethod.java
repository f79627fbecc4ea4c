package io.holdfast.aop;

import java.util.Set;

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
import io.holdfast.annotation.OnStoreFailure;
import org.aopalliance.intercept.MethodInvocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.core.Nullness;
import org.springframework.util.ClassUtils;

/**
 * One annotation of one method, and the service for it. Thread-safe.
 */
final class LeasedMethod {

	private static final Log logger = LogFactory.getLog(LeasedMethod.class);

	private final LeaseAnnotationHandler annotation;

	final LeaseOperation operation;

	/** Whether the call of the method at the start prepares all of its runs. */
	final boolean scheduled;

	/** The services of the annotation with a failure at the last call. */
	final Set<Object> failing;

	/** Whether permits are kept for a while after a run that fails. */
	private final boolean keptAfterFailure;

	/** Known from the first call on. */
	private volatile @Nullable Object service;

	LeasedMethod(LeaseAnnotationHandler annotation, LeaseOperation operation) {
		this.annotation = annotation;
		this.operation = operation;
		this.failing = annotation.failing;
		this.scheduled = operation.annotatedMethod().isScheduled();
		this.keptAfterFailure = !operation.isLock() && !operation.same().minHold().isZero();
	}

	/**
	 * Return the lease to acquire for a call, or {@code null} if the call needs none.
	 * @throws IllegalArgumentException if the call yields no key, or a condition that is
	 * neither true nor false
	 */
	@Nullable MethodLease lease(MethodInvocation invocation) {
		LeaseRequest<?> request = this.operation.request(invocation);
		if (request == null) {
			return null;
		}
		// By the caller's thread: a second lease may be asked for on another one.
		service();
		return lease(invocation, request, this.annotation.namespace.get(),
				(this.operation.returnKind() != ReturnKind.PLAIN) ? notAcquiredHandler() : null,
				this.keptAfterFailure ? MethodLease.Attempts.of(invocation) : null);
	}

	/**
	 * Return the leases of a call, one for each subscription to its result. The namespace
	 * and the strategy of the current thread serve them all: later threads may be out of
	 * their scope.
	 */
	Leases leases(MethodInvocation invocation) {
		NotAcquiredHandler handler = notAcquiredHandler();
		// The runs of a scheduled method are no retries of one another.
		MethodLease.Attempts attempts = (this.keptAfterFailure && !this.scheduled) ? new MethodLease.Attempts() : null;
		KeyNamespace namespace;
		try {
			KeyNamespace current = this.annotation.namespace.get();
			namespace = (current != null) ? fixed(current.current()) : null;
		}
		catch (Throwable missing) {
			// A call whose condition is false does not need it.
			return () -> {
				if (this.operation.request(invocation) != null) {
					throw missing;
				}
				return null;
			};
		}
		return () -> {
			LeaseRequest<?> request = this.operation.request(invocation);
			return (request != null) ? lease(invocation, request, namespace, handler, attempts) : null;
		};
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
		return new MethodLease(this, invocation, named, handler, attempts);
	}

	/** Return the service that grants the leases: one for locks, or for semaphores. */
	Object service() {
		Object known = this.service;
		if (known == null) {
			known = this.annotation.service(this.operation);
			this.service = known;
		}
		return known;
	}

	IllegalStateException noAnswer(String missing, LeaseRequest<?> request) {
		return new IllegalStateException(
				service() + " gave no " + missing + " for " + request + ": if it is a mock, let it give one");
	}

	/** Return whether the transaction of a fenced call itself raises the token. */
	boolean leavesTokenToTransaction(MethodInvocation invocation) {
		return OwnTransaction.raisesToken(invocation, this.operation.annotatedMethod().targetClass(),
				this.annotation.beans());
	}

	/** Note that the store has answered: its next failure is to be warned of. */
	void onAnswer() {
		this.failing.remove(service());
	}

	/** Return a lease that is not held if the method is to run without, or throw. */
	Lease unguarded(LeaseRequest<?> request, HoldfastException ex) {
		if (ex instanceof NotAcquiredException refused
				&& (refused.getReason() == Reason.TIMED_OUT || refused.getReason() == Reason.EXCEEDS_LIMIT)) {
			// The store has told so, not this instance alone.
			onAnswer();
		}
		if (!(ex instanceof LeaseStoreException failure) || this.operation.onStoreFailure() != OnStoreFailure.PROCEED
				|| !(request instanceof SemaphoreRequest permits)) {
			throw ex;
		}
		if (this.failing.add(service())) {
			logger.warn(this.operation.annotatedMethod()
					+ " lets the method run without a permit, as onStoreFailure is PROCEED. Further calls that do so "
					+ "are not logged until the store answers again. " + ex.getMessage());
		}
		return new UnguardedPermits(permits, failure);
	}

	/** Warn once of a fenced method whose call began no transaction that was checked. */
	void warnOfUnchecked() {
		AnnotatedMethod method = this.operation.annotatedMethod();
		if (this.annotation.unchecked.add(method.method())) {
			logger.warn(method + " is fenced, but a call began no transaction that was checked: "
					+ "what it wrote without one, in a read-only one or on another thread, a late holder writes, too. "
					+ "Write in a transaction of the fenced DataSource, or leave out fenced. Further calls are not logged");
		}
	}

	/** Return the handler of a call of the current thread that gets no lease. */
	NotAcquiredHandler notAcquiredHandler() {
		NotAcquiredHandler declared = this.operation.notAcquiredHandler();
		if (declared != NotAcquiredHandler.THROW) {
			return declared;
		}
		try {
			NotAcquiredStrategy strategy = this.annotation.strategy.get();
			return (strategy != null) ? (call, ex) -> answer(strategy, call, ex) : declared;
		}
		catch (Throwable missing) {
			// It may never be needed, and does not hide why a call got no lease.
			return (call, ex) -> {
				ex.addSuppressed(missing);
				throw ex;
			};
		}
	}

	/** Ask the strategy of the application, and refuse results of another type. */
	private @Nullable Object answer(NotAcquiredStrategy strategy, MethodInvocation call, HoldfastException ex)
			throws Throwable {
		if (!(ex instanceof NotAcquiredException notAcquired)) {
			throw ex;
		}
		AnnotatedMethod method = this.operation.annotatedMethod();
		boolean suspends = method.isSuspending();
		Class<?> type = suspends ? method.returned().toClass() : call.getMethod().getReturnType();
		Object result = strategy.answer(call.getMethod(), notAcquired);
		if (type == void.class) {
			return null;
		}
		boolean fits = (result != null) ? ClassUtils.isAssignableValue(type, result)
				: (suspends || this.operation.returnKind() == ReturnKind.PLAIN)
						&& Nullness.forMethodReturnType(method.method()) != Nullness.NON_NULL;
		if (!fits) {
			throw new IllegalStateException("The NotAcquiredStrategy " + strategy.getClass().getName() + " gave "
					+ ((result != null) ? "a " + result.getClass().getName() : "null") + " for " + method + ": give "
					+ (suspends ? "a " + type.getName() + " itself" : "a result of its type") + ", or throw", ex);
		}
		return result;
	}

	/**
	 * The leases of one call, whose expressions are evaluated each time anew.
	 * Thread-safe.
	 */
	@FunctionalInterface
	interface Leases {

		/**
		 * Return the lease to acquire now, or {@code null} if the call needs none.
		 * @throws Throwable if the call yields no key, or a condition that is neither
		 * true nor false; or the exception of a bean that was asked
		 */
		@Nullable MethodLease next() throws Throwable;

	}

}
