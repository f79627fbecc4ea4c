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
 * Holds around the invocation of a method all that its annotations ask for: acquired in
 * the order of their annotations, released in the reverse order.
 *
 * <p>
 * Where a bean's proxy is the target of another one, and both have the advice, the outer
 * one has acquired the leases, outside of all other advice: the inner one has to tell the
 * second half of a call from a call of its own.
 */
final class LeaseInterceptor implements MethodInterceptor {

	private static final Log logger = LogFactory.getLog(LeaseInterceptor.class);

	/** The proxy that a call of this thread is to reach next. */
	private static final ThreadLocal<Object> NEXT = new ThreadLocal<>();

	/** Tells that all leases of a call were acquired. */
	static final Object ACQUIRED = new Object();

	private final List<LeaseAnnotationHandler> handlers;

	/** {@code null} once it is known that there is none. */
	private volatile @Nullable ApplicationBean<MethodObserver> observer;

	private final Guard observerGuard = MethodCallObservation.guard();

	/** The kinds of the results of methods that are declared to return any object. */
	private final Map<Class<?>, ReturnKind> kinds = new ConcurrentHashMap<>();

	/** The methods of which such a warning was logged. */
	private final Set<Method> warned = ConcurrentHashMap.newKeySet();

	/** The annotations of the methods that pass an advised proxy, by method and class. */
	private final Map<MethodClassKey, List<LeasedMethod>> annotations = new ConcurrentHashMap<>();

	LeaseInterceptor(List<LeaseAnnotationHandler> handlers, ApplicationBean<MethodObserver> observer) {
		this.handlers = handlers;
		this.observer = observer;
	}

	/** Check the beans that calls will need, once all beans are there. */
	void checkBeans() {
		this.handlers.forEach(LeaseAnnotationHandler::checkBeans);
		this.observer = ApplicationBean.ifAny(this.observer);
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		if (takeReached(invocation)) {
			// Perhaps to a third one.
			return proceed(invocation);
		}
		Object target = invocation.getThis();
		Class<?> targetClass = (target != null) ? AopUtils.getTargetClass(target)
				: invocation.getMethod().getDeclaringClass();
		List<LeasedMethod> annotations = annotations(invocation.getMethod(), targetClass);
		if (annotations.isEmpty()) {
			return invocation.proceed();
		}
		// The same for all annotations of a method.
		AnnotatedMethod method = annotations.get(0).annotatedMethod();
		return switch (annotations.get(0).returnKind()) {
			case PLAIN -> invokeHere(invocation, targetClass, method, leases(invocation, annotations));
			case STAGE -> {
				List<MethodLease> leases;
				try {
					leases = leases(invocation, annotations);
				}
				catch (Throwable ex) {
					// Code of the application was asked, which may throw anything.
					yield CompletableFuture.failedFuture(ex);
				}
				if (leases.isEmpty()) {
					yield invocation.proceed();
				}
				CompletionStageInvocation call = new CompletionStageInvocation(invocation, method, leases,
						observe(invocation, targetClass, null));
				yield OtherAdvice.isAsyncAround(invocation, targetClass, this) ? call.startHere() : call.start();
			}
			case REACTIVE -> method.isSuspending() && CoroutineBody.takeReached(invocation) ? invocation.proceed()
					: invokeReactive(invocation, targetClass, method, annotations);
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
	 * Evaluate all expressions, before anything is acquired, on the caller's thread.
	 */
	private static List<MethodLease> leases(MethodInvocation invocation, List<LeasedMethod> annotations) {
		List<MethodLease> leases = List.of();
		for (int i = 0; i < annotations.size(); i++) {
			leases = append(leases, annotations.get(i).lease(invocation));
		}
		return leases;
	}

	/**
	 * Return the leases of a call with one more, to be acquired after the others.
	 * @param outer the leases so far; mostly none, for which a list that can grow would
	 * be much
	 * @param inner the next lease, or {@code null} if the call needs no more
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

	/** Call a method that returns when its work is done: all happens on this thread. */
	private @Nullable Object invokeHere(MethodInvocation invocation, Class<?> targetClass, AnnotatedMethod method,
			List<MethodLease> leases) throws Throwable {
		if (leases.isEmpty()) {
			return invocation.proceed();
		}
		MethodCallObservation observation = observe(invocation, targetClass, null);
		Object result = (observation != MethodCallObservation.NONE) ? holdObserved(invocation, leases, observation)
				: hold(invocation, leases, observation);
		if (result != null && method.method().getReturnType() == Object.class) {
			warnIfLater(method, result.getClass());
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
	 * @return {@link #ACQUIRED}, or the result for the caller instead of the method's
	 */
	static @Nullable Object acquire(List<MethodLease> leases, MethodCallObservation observation) throws Throwable {
		for (int i = 0; i < leases.size(); i++) {
			MethodLease each = leases.get(i);
			try {
				each.acquire();
			}
			catch (Throwable ex) {
				for (int j = i - 1; j >= 0; j--) {
					leases.get(j).discard();
				}
				if (ex instanceof HoldfastException refused) {
					return each.instead(refused);
				}
				throw ex;
			}
			if (observation != MethodCallObservation.NONE && each.isUnguarded()) {
				observation.unguarded();
			}
		}
		return ACQUIRED;
	}

	/**
	 * Run the method itself, on the current thread: under its leases, and interrupted by
	 * the loss of a lease that it is to end with.
	 */
	static @Nullable Object run(MethodInvocation invocation, LeaseContext context, List<MethodLease> leases)
			throws Throwable {
		LeaseContext.Scope scope = context.open();
		LossInterrupt interrupt = null;
		try {
			for (int i = 0; i < leases.size(); i++) {
				MethodLease each = leases.get(i);
				if (each.onLoss() == OnLoss.INTERRUPT) {
					interrupt = (interrupt != null) ? interrupt : new LossInterrupt();
					each.lease().onLost((PromptAction) interrupt::lost);
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

	/** Proceed under the acquired leases. */
	static @Nullable Object proceed(MethodInvocation invocation) throws Throwable {
		Object outer = NEXT.get();
		Object next = next(invocation);
		if (outer == null && next == null) {
			return invocation.proceed();
		}
		setNext(next);
		try {
			return invocation.proceed();
		}
		finally {
			// This may be a call within an outer one that has yet to reach its target.
			setNext(outer);
		}
	}

	/**
	 * Return the proxy with this advice, also of another context, that a call is to reach
	 * next; other proxies may be before it. {@code null} if there is none.
	 */
	static @Nullable Object next(MethodInvocation invocation) {
		Object target = invocation.getThis();
		while (target instanceof Advised proxy && Stream.of(proxy.getAdvisors())
			.noneMatch((advisor) -> advisor.getAdvice() instanceof LeaseInterceptor)) {
			target = AopProxyUtils.getSingletonTarget(target);
		}
		return (target instanceof Advised) ? target : null;
	}

	private static void setNext(@Nullable Object next) {
		if (next != null) {
			NEXT.set(next);
		}
		else {
			NEXT.remove();
		}
	}

	/**
	 * Take note that a call has reached the proxy that it is meant for. Suspending
	 * functions know this by their coroutine: another one may be resumed between the two
	 * proxies.
	 * @return whether it has, and so has its leases; once for each call
	 */
	static boolean takeReached(MethodInvocation invocation) {
		Object next = NEXT.get();
		if (next == null || !(invocation instanceof ProxyMethodInvocation proxied) || proxied.getProxy() != next
				|| KotlinDetector.isSuspendingFunction(invocation.getMethod())) {
			return false;
		}
		// Calls by the method are calls of their own.
		NEXT.remove();
		return true;
	}

	/**
	 * Warn of work that goes on after the return, of which the declaration says nothing.
	 */
	private void warnIfLater(AnnotatedMethod method, Class<?> result) {
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
			.map((each) -> each.leases(invocation))
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
