package io.holdfast.aop;

import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

import io.holdfast.HoldfastException;
import io.holdfast.LeaseContext;
import io.holdfast.annotation.OnLoss;
import io.holdfast.async.CallResult;
import io.holdfast.async.Guard;
import io.holdfast.async.PromptAction;
import io.micrometer.observation.Observation;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodClassKey;

/**
 * Advice that acquires the leases of an annotated method before its invocation, and
 * releases them afterwards in the reverse order.
 *
 * <p>
 * If a bean's proxy is the target of another proxy, both may have this advice. The outer
 * proxy then acquires the leases. The inner proxy must not acquire them again, and has to
 * distinguish such a call from a direct call.
 */
final class LeaseInterceptor implements MethodInterceptor {

	private static final Log logger = LogFactory.getLog(LeaseInterceptor.class);

	/**
	 * Inner proxy that the current call of this thread must reach next, without acquiring
	 * leases again.
	 */
	private static final ThreadLocal<Object> INNER_PROXY = new ThreadLocal<>();

	/** Marker: all leases of a call were acquired. */
	static final Object ACQUIRED = new Object();

	private final List<LeaseAnnotationHandler> handlers;

	/** Observer of calls. {@code null} if the application is known to have none. */
	private volatile @Nullable ApplicationBean<MethodObserver> observer;

	private final Guard observerGuard = MethodCallObservation.guard();

	/**
	 * Kinds of results of methods with the return type {@code Object}, by class of the
	 * result.
	 */
	private final Map<Class<?>, ReturnKind> kinds = new ConcurrentHashMap<>();

	/** Methods with the return type {@code Object} for which a warning was logged. */
	private final Set<Method> warned = ConcurrentHashMap.newKeySet();

	/** Annotations of called methods, by method and class. */
	private final Map<MethodClassKey, List<LeasedMethod>> annotations = new ConcurrentHashMap<>();

	LeaseInterceptor(List<LeaseAnnotationHandler> handlers, ApplicationBean<MethodObserver> observer) {
		this.handlers = handlers;
		this.observer = observer;
	}

	/** Check the beans that calls will need, after all beans are created. */
	void checkBeans() {
		this.handlers.forEach(LeaseAnnotationHandler::checkBeans);
		this.observer = ApplicationBean.ifAny(this.observer);
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		if (tryEnterInnerProxy(invocation)) {
			// Not directly to the target: there may be a third proxy.
			return proceed(invocation);
		}
		Object target = invocation.getThis();
		Class<?> targetClass = (target != null) ? AopUtils.getTargetClass(target)
				: invocation.getMethod().getDeclaringClass();
		List<LeasedMethod> annotations = annotations(invocation.getMethod(), targetClass);
		if (annotations.isEmpty()) {
			return invocation.proceed();
		}
		// All annotations of a call have the same method.
		AnnotatedMethod method = annotations.get(0).annotatedMethod();
		return switch (annotations.get(0).returnKind()) {
			case PLAIN -> invokeHere(invocation, targetClass, method, leases(invocation, annotations));
			case STAGE -> {
				List<MethodLease> leases;
				try {
					leases = leases(invocation, annotations);
				}
				catch (Throwable ex) {
					// Expressions and beans of the application may throw any exception.
					yield CompletableFuture.failedFuture(ex);
				}
				if (leases.isEmpty()) {
					yield invocation.proceed();
				}
				CompletionStageInvocation call = new CompletionStageInvocation(invocation, method, leases,
						observe(invocation, targetClass, null));
				yield AdviceClassifier.isAsyncAround(invocation, targetClass, this) ? call.startHere() : call.start();
			}
			case REACTIVE -> method.isSuspending() && CoroutineBody.tryEnterInnerProxy(invocation)
					? invocation.proceed() : invokeReactive(invocation, targetClass, method, annotations);
			case UNSUPPORTED -> throw new IllegalStateException("Refused at start-up");
		};
	}

	private List<LeasedMethod> annotations(Method method, Class<?> targetClass) {
		MethodClassKey key = new MethodClassKey(method, targetClass);
		List<LeasedMethod> known = this.annotations.get(key);
		if (known == null) {
			known = this.handlers.stream()
				.map((handler) -> handler.find(method, targetClass))
				.filter(LeasedMethod.class::isInstance)
				.toList();
			this.annotations.put(key, known);
		}
		return known;
	}

	/**
	 * Evaluate all expressions on the caller's thread, before the first lease is
	 * acquired.
	 */
	private static List<MethodLease> leases(MethodInvocation invocation, List<LeasedMethod> annotations) {
		List<MethodLease> leases = List.of();
		for (int i = 0; i < annotations.size(); i++) {
			leases = append(leases, annotations.get(i).lease(invocation));
		}
		return leases;
	}

	/**
	 * Return a list of leases with one more lease.
	 * @param outer the leases so far, at most one; immutable lists are cheaper than a
	 * growing list
	 * @param inner the next lease, or {@code null} if the call does not need it
	 */
	static List<MethodLease> append(List<MethodLease> outer, @Nullable MethodLease inner) {
		if (inner == null) {
			return outer;
		}
		if (outer.isEmpty()) {
			return List.of(inner);
		}
		outer.get(0).inner = inner;
		return List.of(outer.get(0), inner);
	}

	/** Call a method that returns when its work is done, on the current thread. */
	private @Nullable Object invokeHere(MethodInvocation invocation, Class<?> targetClass, AnnotatedMethod method,
			List<MethodLease> leases) throws Throwable {
		if (leases.isEmpty()) {
			return invocation.proceed();
		}
		MethodCallObservation observation = observe(invocation, targetClass, null);
		Object result = (observation != MethodCallObservation.NONE) ? holdObserved(invocation, leases, observation)
				: hold(invocation, leases, observation);
		if (result != null && method.method().getReturnType() == Object.class) {
			warnIfAsynchronous(method, result.getClass());
		}
		return result;
	}

	private static @Nullable Object holdObserved(MethodInvocation invocation, List<MethodLease> leases,
			MethodCallObservation observation) throws Throwable {
		try {
			Object result = observation.run(() -> hold(invocation, leases, observation));
			observation.ended(null);
			return result;
		}
		catch (Throwable ex) {
			observation.ended(ex);
			throw ex;
		}
	}

	/** Acquire the leases, run the method, and release them in the reverse order. */
	private static @Nullable Object hold(MethodInvocation invocation, List<MethodLease> leases,
			MethodCallObservation observation) throws Throwable {
		Object result = acquire(leases, observation);
		if (result != ACQUIRED) {
			return result;
		}
		LeaseContext context = LeaseContext.current();
		for (int i = 0; i < leases.size(); i++) {
			context = context.with(leases.get(i).lease());
		}
		Throwable failure = null;
		try {
			result = run(invocation, context, leases);
		}
		catch (Throwable ex) {
			failure = ex;
		}
		for (int i = leases.size() - 1; i >= 0; i--) {
			failure = leases.get(i).end(failure);
		}
		if (failure != null) {
			throw failure;
		}
		return result;
	}

	/**
	 * Acquire the leases for the current thread.
	 * @return {@link #ACQUIRED}, or a result for the caller in place of the method's
	 * result
	 */
	static @Nullable Object acquire(List<MethodLease> leases, MethodCallObservation observation) throws Throwable {
		for (int i = 0; i < leases.size(); i++) {
			MethodLease methodLease = leases.get(i);
			try {
				methodLease.acquire();
			}
			catch (Throwable ex) {
				for (int j = i - 1; j >= 0; j--) {
					leases.get(j).discard();
				}
				if (ex instanceof HoldfastException refused) {
					return methodLease.resultWithoutLease(refused);
				}
				throw ex;
			}
			if (observation != MethodCallObservation.NONE && methodLease.isUnguarded()) {
				observation.unguarded();
			}
		}
		return ACQUIRED;
	}

	/**
	 * Run the method under its leases on the current thread. Interrupts the thread on the
	 * loss of a lease with {@link OnLoss#INTERRUPT}.
	 */
	static @Nullable Object run(MethodInvocation invocation, LeaseContext context, List<MethodLease> leases)
			throws Throwable {
		LeaseContext.Scope scope = context.open();
		LossInterrupt interrupt = null;
		try {
			for (int i = 0; i < leases.size(); i++) {
				MethodLease methodLease = leases.get(i);
				if (methodLease.onLoss() == OnLoss.INTERRUPT) {
					interrupt = (interrupt != null) ? interrupt : new LossInterrupt();
					methodLease.lease().onLost((PromptAction) interrupt::lost);
				}
			}
			return proceed(invocation);
		}
		finally {
			if (interrupt != null) {
				interrupt.end();
			}
			scope.close();
		}
	}

	/** Proceed with the invocation after the leases are acquired. */
	static @Nullable Object proceed(MethodInvocation invocation) throws Throwable {
		Object outer = INNER_PROXY.get();
		Object innerProxy = innerProxy(invocation);
		if (outer == null && innerProxy == null) {
			return invocation.proceed();
		}
		setInnerProxy(innerProxy);
		try {
			return invocation.proceed();
		}
		finally {
			// Restore the state of an outer call that has not reached its target yet.
			setInnerProxy(outer);
		}
	}

	/**
	 * Return the inner proxy: the next proxy with this advice behind the current proxy,
	 * or {@code null}. There may be other proxies in between, and the advice may be from
	 * another context.
	 */
	static @Nullable Object innerProxy(MethodInvocation invocation) {
		Object target = invocation.getThis();
		while (target instanceof Advised proxy && Stream.of(proxy.getAdvisors())
			.noneMatch((advisor) -> advisor.getAdvice() instanceof LeaseInterceptor)) {
			target = AopProxyUtils.getSingletonTarget(target);
		}
		return (target instanceof Advised) ? target : null;
	}

	private static void setInnerProxy(@Nullable Object innerProxy) {
		if (innerProxy != null) {
			INNER_PROXY.set(innerProxy);
		}
		else {
			INNER_PROXY.remove();
		}
	}

	/**
	 * Return whether a call has arrived at the inner proxy, and has already acquired its
	 * leases at the outer proxy. Returns {@code true} once for each call. Not for
	 * suspending functions, whose coroutine has this state, because another coroutine may
	 * be resumed between the two proxies.
	 */
	static boolean tryEnterInnerProxy(MethodInvocation invocation) {
		Object innerProxy = INNER_PROXY.get();
		if (innerProxy == null || !(invocation instanceof ProxyMethodInvocation proxied)
				|| proxied.getProxy() != innerProxy || KotlinDetector.isSuspendingFunction(invocation.getMethod())) {
			return false;
		}
		// Calls made by the method are new calls.
		INNER_PROXY.remove();
		return true;
	}

	/**
	 * Warn of a result whose work goes on after the return, contrary to the declared
	 * return type.
	 */
	private void warnIfAsynchronous(AnnotatedMethod method, Class<?> result) {
		if (this.kinds.computeIfAbsent(result, ReturnKind::of) != ReturnKind.PLAIN
				&& this.warned.add(method.method())) {
			logger.warn(method + " ended when the method returned, before the work of the " + result.getTypeName()
					+ " that it returned: declare a CompletableFuture, CompletionStage, Mono or Flux instead of "
					+ "Object, or annotate the method that does the work. Further calls are not logged");
		}
	}

	private @Nullable Object invokeReactive(MethodInvocation invocation, Class<?> targetClass, AnnotatedMethod method,
			List<LeasedMethod> annotations) throws Throwable {
		List<CallResult.Code<MethodLease>> leases = annotations.stream()
			.map((annotation) -> annotation.leases(invocation))
			.toList();
		ReactiveInvocation call = new ReactiveInvocation((ProxyMethodInvocation) invocation, method, leases,
				(observer() != null) ? (parent) -> observe(invocation, targetClass, parent) : null);
		return annotations.get(0).scheduled() ? call.startLater() : call.start();
	}

	private MethodCallObservation observe(MethodInvocation invocation, Class<?> targetClass,
			@Nullable Observation parent) {
		MethodObserver observer = observer();
		return (observer == null) ? MethodCallObservation.NONE : MethodCallObservation.of(this.observerGuard,
				() -> observer.start(invocation.getMethod(), targetClass, parent));
	}

	private @Nullable MethodObserver observer() {
		ApplicationBean<MethodObserver> bean = this.observer;
		return (bean != null) ? bean.get() : null;
	}

}
