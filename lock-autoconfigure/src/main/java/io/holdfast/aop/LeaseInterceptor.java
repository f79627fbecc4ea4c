package io.holdfast.aop;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;

import io.holdfast.KeyNamespace;
import io.holdfast.LeaseContext;
import io.holdfast.NotAcquiredStrategy;
import io.holdfast.async.Guard;
import io.micrometer.observation.Observation;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodClassKey;

/**
 * Advice that acquires the leases of an annotated method before its invocation, and
 * releases them afterwards in the reverse order.
 */
final class LeaseInterceptor implements MethodInterceptor {

	private static final Log logger = LogFactory.getLog(LeaseInterceptor.class);

	/** Handlers, the outermost first. */
	private final List<LeaseAnnotationHandler> handlers;

	// Beans of the application. null if the application is known to have none.

	private volatile @Nullable ApplicationBean<KeyNamespace> namespace;

	private volatile @Nullable ApplicationBean<NotAcquiredStrategy> strategy;

	private volatile @Nullable ApplicationBean<MethodObserver> observer;

	private final Guard observerGuard = new Guard(LogFactory.getLog(MethodObserver.class),
			"An observer of annotated methods failed", "the calls are not affected");

	/**
	 * Kinds of results of methods with the return type {@code Object}, by class of the
	 * result.
	 */
	private final Map<Class<?>, ReturnKind> kinds = new ConcurrentHashMap<>();

	/** Methods with the return type {@code Object} for which a warning was logged. */
	private final Set<Method> warned = ConcurrentHashMap.newKeySet();

	/** Annotations of called methods, by method and class. */
	private final Map<MethodClassKey, List<LeasedMethod>> annotations = new ConcurrentHashMap<>();

	LeaseInterceptor(List<LeaseAnnotationHandler> handlers, Supplier<ConfigurableListableBeanFactory> beans) {
		this.handlers = handlers;
		this.namespace = new ApplicationBean<>(beans, KeyNamespace.class);
		this.strategy = new ApplicationBean<>(beans, NotAcquiredStrategy.class);
		this.observer = new ApplicationBean<>(beans, MethodObserver.class);
	}

	/** Check the beans that calls will need, after all beans are created. */
	void checkBeans() {
		this.handlers.forEach(LeaseAnnotationHandler::checkBeans);
		this.namespace = ApplicationBean.ifAny(this.namespace);
		this.strategy = ApplicationBean.ifAny(this.strategy);
		this.observer = ApplicationBean.ifAny(this.observer);
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		if (LeaseContext.currentOwner() instanceof MethodCall outer && outer.tryEnterInnerProxy(invocation)) {
			return invocation.proceed();
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
			case PLAIN -> {
				List<MethodLease> leases = leases(invocation, annotations).run();
				if (leases.isEmpty()) {
					yield invocation.proceed();
				}
				Object result = call(invocation, targetClass, leases, null).run();
				if (result != null && method.method().getReturnType() == Object.class) {
					warnIfAsynchronous(method, result.getClass());
				}
				yield result;
			}
			case STAGE -> {
				List<MethodLease> leases;
				try {
					leases = leases(invocation, annotations).run();
				}
				catch (Throwable ex) {
					// Expressions and beans of the application may throw any exception.
					yield CompletableFuture.failedFuture(ex);
				}
				if (leases.isEmpty()) {
					yield invocation.proceed();
				}
				CompletionStageInvocation call = new CompletionStageInvocation(method,
						call(invocation, targetClass, leases, null));
				yield AdviceClassifier.isAsyncAround(invocation, targetClass, this) ? call.startHere() : call.start();
			}
			case REACTIVE -> {
				if (method.isSuspending() && CoroutineBody.tryEnterInnerProxy(invocation)) {
					yield invocation.proceed();
				}
				ReactiveInvocation call = new ReactiveInvocation((ProxyMethodInvocation) invocation, method,
						leases(invocation, annotations),
						(leases, parent) -> call(invocation, targetClass, leases, parent));
				yield annotations.get(0).calledOnce() ? call.startLater() : call.start();
			}
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
	 * Return the evaluation of the annotations, which returns new leases each time, the
	 * outermost first. Namespace and strategy are those of the current thread, because
	 * later threads may be outside their scopes.
	 */
	private Evaluation<List<MethodLease>> leases(MethodInvocation invocation, List<LeasedMethod> annotations) {
		Evaluation<String> currentNamespace = current(this.namespace, KeyNamespace::current);
		Evaluation<NotAcquiredStrategy> currentStrategy = current(this.strategy, Function.identity());
		return () -> {
			List<MethodLease> leases = new ArrayList<>(annotations.size());
			for (int i = 0; i < annotations.size(); i++) {
				MethodLease lease = annotations.get(i).lease(invocation, currentNamespace, currentStrategy);
				if (lease != null) {
					leases.add(lease);
				}
			}
			if (leases.size() > 1) {
				leases.get(0).innerLease = leases.get(1);
			}
			return leases;
		};
	}

	/**
	 * Return the evaluation of a bean's value in the current scope, or {@code null} if
	 * there is no such bean. It throws the failure of the bean only if it is needed: not
	 * for a call whose condition is false, or that gets its leases.
	 */
	private static <T, V> @Nullable Evaluation<V> current(@Nullable ApplicationBean<T> bean, Function<T, V> value) {
		try {
			T found = (bean != null) ? bean.get() : null;
			if (found == null) {
				return null;
			}
			V current = value.apply(found);
			return () -> current;
		}
		catch (Throwable missing) {
			return () -> {
				throw missing;
			};
		}
	}

	/**
	 * Return a call with its leases, and start its observation.
	 * @param parent the observation in Reactor's context, or {@code null}
	 */
	private MethodCall call(MethodInvocation invocation, Class<?> targetClass, List<MethodLease> leases,
			@Nullable Observation parent) {
		ApplicationBean<MethodObserver> bean = this.observer;
		MethodObserver found = (bean != null) ? bean.get() : null;
		Observation observation = (found == null) ? Observation.NOOP
				: this.observerGuard.get(
						() -> Objects.requireNonNull(found.start(invocation.getMethod(), targetClass, parent)),
						() -> Observation.NOOP);
		return new MethodCall(invocation, leases, observation, this.observerGuard);
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

	/**
	 * Evaluation for a call, which may throw any exception.
	 *
	 * @param <T> the type of the value
	 */
	@FunctionalInterface
	interface Evaluation<T> {

		/** Return the value. */
		T run() throws Throwable;

	}

}
