package io.holdfast.aop;

import java.util.List;

import io.holdfast.HoldfastException;
import io.holdfast.LeaseRequest;
import io.holdfast.LockRequest;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredStrategy;
import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.OnStoreFailure;
import io.holdfast.annotation.ReleaseAfter;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.core.Nullness;
import org.springframework.util.ClassUtils;

/**
 * Parsed annotation of a method, which creates the leases of calls. Thread-safe.
 *
 * @param handler the handler of the annotation's type
 * @param annotatedMethod the annotation
 * @param returnKind the kind of the method's result
 * @param calledOnce whether Spring calls this scheduled reactive method once, and
 * subscribes to the result for each run
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
		boolean calledOnce, @Nullable CallExpression condition, @Nullable CallExpression key, String keyPrefix,
		LeaseRequest<?> requestTemplate, NotAcquiredHandler declaredHandler, OnStoreFailure onStoreFailure,
		OnLoss onLoss, ReleaseAfter releaseAfter, String serviceName, boolean inTurns) {

	/** Return whether the lease is of a lock, as opposed to permits. */
	boolean isLock() {
		return this.requestTemplate instanceof LockRequest;
	}

	/** Return whether databases refuse the transactions of a late holder. */
	boolean isFenced() {
		return this.requestTemplate instanceof LockRequest lock && lock.isFenced();
	}

	/**
	 * Return whether the permits of a failed run are kept, so that a repetition of the
	 * call may find none. The runs of a scheduled method are no repetitions.
	 */
	boolean keepsPermitsOfFailedRun() {
		return !isLock() && !this.requestTemplate.minHold().isZero() && !this.calledOnce;
	}

	/**
	 * Return a new lease for a call, or {@code null} if the call needs none.
	 * @param namespace evaluates the namespace of the key; {@code null} for none
	 * @param strategy evaluates the application's handling of calls without a lease;
	 * {@code null} for none
	 * @throws IllegalArgumentException if an expression yields no key or no boolean
	 */
	@Nullable MethodLease lease(MethodInvocation invocation, LeaseInterceptor.@Nullable Evaluation<String> namespace,
			LeaseInterceptor.@Nullable Evaluation<NotAcquiredStrategy> strategy) throws Throwable {
		LeaseRequest<?> request = request(invocation);
		if (request == null) {
			return null;
		}
		if (namespace != null) {
			request = request.namespace(namespace.run());
		}
		NotAcquiredHandler handlerOfCall = (strategy == null || this.declaredHandler != NotAcquiredHandler.THROW)
				? this.declaredHandler : (call, ex) -> answer(strategy, call, ex);
		return new MethodLease(this, invocation, service(), request, handlerOfCall);
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

	/** Call the application's strategy, and refuse a result of a wrong type. */
	private @Nullable Object answer(LeaseInterceptor.Evaluation<NotAcquiredStrategy> evaluation, MethodInvocation call,
			HoldfastException ex) throws Throwable {
		if (!(ex instanceof NotAcquiredException notAcquired)) {
			throw ex;
		}
		NotAcquiredStrategy strategy;
		try {
			strategy = evaluation.run();
		}
		catch (Throwable missing) {
			// Must not hide the reason why the call got no lease.
			ex.addSuppressed(missing);
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
