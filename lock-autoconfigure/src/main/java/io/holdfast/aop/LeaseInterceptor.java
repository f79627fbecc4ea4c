package io.holdfast.aop;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;

import io.holdfast.aop.LeaseAnnotationHandler.MethodOperation;
import io.holdfast.aop.invoke.CompletionStageInvocation;
import io.holdfast.aop.invoke.MethodLease;
import io.holdfast.aop.invoke.MethodLeaseSource;
import io.holdfast.aop.invoke.NestedProxy;
import io.holdfast.aop.invoke.ReactiveInvocation;
import io.holdfast.aop.invoke.SyncInvocation;
import io.holdfast.aop.metadata.LeaseOperation;
import io.holdfast.aop.method.AnnotatedMethod;
import io.holdfast.aop.method.ReturnKind;
import io.holdfast.aop.observe.MethodCallObservation;
import io.holdfast.aop.observe.MethodObserver;
import io.holdfast.aop.observe.ReactiveObservation;
import io.micrometer.observation.Observation;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.support.AopUtils;
import org.springframework.core.MethodClassKey;
import org.springframework.util.function.SingletonSupplier;

/**
 * Holds around the invocation of a method all that its annotations ask for: acquired in
 * the order of their annotations, released in the reverse order.
 */
final class LeaseInterceptor implements MethodInterceptor {

	private static final Log logger = LogFactory.getLog(LeaseInterceptor.class);

	private final List<LeaseAnnotationHandler<?, ?, ?>> handlers;

	private SingletonSupplier<Optional<MethodObserver>> observer = SingletonSupplier.of(Optional.empty());

	private final AtomicBoolean observerFailed = new AtomicBoolean();

	/** The kinds of the results of methods that are declared to return any object. */
	private final Map<Class<?>, ReturnKind> kinds = new ConcurrentHashMap<>();

	/** The methods that such a warning was logged of. */
	private final Set<Method> warned = ConcurrentHashMap.newKeySet();

	/** What the methods that pass an advised proxy declare, by method and class. */
	private final Map<MethodClassKey, List<MethodOperation>> operations = new ConcurrentHashMap<>();

	LeaseInterceptor(List<LeaseAnnotationHandler<?, ?, ?>> handlers) {
		this.handlers = handlers;
	}

	/** Have calls observed. */
	void setObserver(SingletonSupplier<Optional<MethodObserver>> observer) {
		this.observer = observer;
	}

	/** Check the beans that calls will need, once all beans are there. */
	void checkBeans() {
		this.handlers.forEach(LeaseAnnotationHandler::checkBeans);
		this.observer.get();
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		if (NestedProxy.takeReached(invocation)) {
			return invocation.proceed();
		}
		Object target = invocation.getThis();
		Class<?> targetClass = (target != null) ? AopUtils.getTargetClass(target)
				: invocation.getMethod().getDeclaringClass();
		List<MethodOperation> operations = operations(invocation.getMethod(), targetClass);
		return operations.isEmpty() ? invocation.proceed() : invoke(invocation, targetClass, operations);
	}

	private List<MethodOperation> operations(Method method, Class<?> targetClass) {
		MethodClassKey key = new MethodClassKey(method, targetClass);
		List<MethodOperation> known = this.operations.get(key);
		if (known == null) {
			List<MethodOperation> found = new ArrayList<>();
			for (LeaseAnnotationHandler<?, ?, ?> handler : this.handlers) {
				MethodOperation operation = handler.find(method, targetClass);
				if (operation != null) {
					found.add(operation);
				}
			}
			known = List.copyOf(found);
			this.operations.put(key, known);
		}
		return known;
	}

	/**
	 * Call a method.
	 * @param operations what its annotations say: the kind of result is the same for all
	 * of them
	 */
	private @Nullable Object invoke(MethodInvocation invocation, Class<?> targetClass, List<MethodOperation> operations)
			throws Throwable {
		LeaseOperation<?> operation = operations.get(0).operation();
		if (operation.returnKind() == ReturnKind.REACTIVE) {
			return ReactiveInvocation.takeReached(invocation, operation.annotatedMethod()) ? invocation.proceed()
					: reactive(invocation, targetClass, operations);
		}
		List<MethodLease> methodLeases;
		try {
			methodLeases = methodLeases(invocation, operations);
		}
		catch (Throwable ex) {
			// Code of the application was asked, which may throw anything.
			if (operation.returnKind() == ReturnKind.STAGE) {
				return CompletableFuture.failedFuture(ex);
			}
			throw ex;
		}
		if (methodLeases.isEmpty()) {
			return invocation.proceed();
		}
		MethodObserver observer = this.observer.obtain().orElse(null);
		return switch (operation.returnKind()) {
			case PLAIN -> {
				Object result = new SyncInvocation(invocation, methodLeases)
					.run(observe(observer, invocation, targetClass, null));
				if (result != null && operation.annotatedMethod().method().getReturnType() == Object.class) {
					warnIfLater(operation.annotatedMethod(), result.getClass());
				}
				yield result;
			}
			case STAGE -> {
				CompletionStageInvocation call = new CompletionStageInvocation(invocation, operation.annotatedMethod(),
						methodLeases, observe(observer, invocation, targetClass, null));
				yield OtherAdvice.isAsyncAround(invocation, targetClass, this) ? call.startHere() : call.start();
			}
			case REACTIVE, UNSUPPORTED -> throw new IllegalStateException("Refused at start-up");
		};
	}

	private @Nullable Object reactive(MethodInvocation invocation, Class<?> targetClass,
			List<MethodOperation> operations) throws Throwable {
		MethodOperation first = operations.get(0);
		List<MethodLeaseSource> sources = operations.stream().map((each) -> each.leases(invocation)).toList();
		MethodObserver observer = this.observer.obtain().orElse(null);
		ReactiveInvocation call = new ReactiveInvocation(invocation, first.operation().annotatedMethod(), sources,
				(observer != null)
						? new ReactiveObservation((parent) -> observe(observer, invocation, targetClass, parent))
						: null);
		return first.isScheduled() ? call.startLater() : call.start();
	}

	/**
	 * Warn of work that goes on after the return, of which the declaration says nothing.
	 */
	private void warnIfLater(AnnotatedMethod<?> method, Class<?> result) {
		if (this.kinds.computeIfAbsent(result, ReturnKind::of) != ReturnKind.PLAIN
				&& this.warned.add(method.method())) {
			logger.warn(method + " ended when the method returned, before the work of the " + result.getTypeName()
					+ " that it returned: declare a CompletableFuture, CompletionStage, Mono or Flux instead of "
					+ "Object, or annotate the method that does the work. Further calls are not logged");
		}
	}

	private MethodCallObservation observe(@Nullable MethodObserver observer, MethodInvocation invocation,
			Class<?> targetClass, @Nullable Observation parent) {
		return (observer == null) ? MethodCallObservation.NONE : MethodCallObservation.of(this.observerFailed,
				() -> observer.start(invocation.getMethod(), targetClass, parent));
	}

	/**
	 * Evaluate all expressions, before anything is acquired, on the caller's thread.
	 */
	private static List<MethodLease> methodLeases(MethodInvocation invocation, List<MethodOperation> operations) {
		// Mostly there is one, for which a list that can grow would be much.
		List<MethodLease> methodLeases = List.of();
		for (MethodOperation operation : operations) {
			MethodLease methodLease = operation.lease(invocation);
			if (methodLease != null) {
				methodLeases = methodLeases.isEmpty() ? List.of(methodLease)
						: Stream.concat(methodLeases.stream(), Stream.of(methodLease)).toList();
			}
		}
		return methodLeases;
	}

}
