package io.holdfast.aop;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;

import io.holdfast.aop.invoke.CompletionStageInvocation;
import io.holdfast.aop.invoke.MethodLease;
import io.holdfast.aop.invoke.NestedProxy;
import io.holdfast.aop.invoke.ReactiveInvocation;
import io.holdfast.aop.invoke.SyncInvocation;
import io.holdfast.aop.metadata.LeaseOperation;
import io.holdfast.aop.observe.MethodCallObservation;
import io.holdfast.aop.observe.MethodObserver;
import io.holdfast.aop.observe.ReactiveObservation;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.support.AopUtils;

/**
 * Holds around the invocation of a method all that its annotations ask for: acquired in
 * the order of their annotations, released in the reverse order.
 */
final class LeaseInterceptor implements MethodInterceptor {

	private final List<LeaseAnnotationHandler<?, ?, ?>> handlers;

	private final Supplier<@Nullable MethodObserver> observer;

	private final AtomicBoolean observerFailed = new AtomicBoolean();

	LeaseInterceptor(List<LeaseAnnotationHandler<?, ?, ?>> handlers, Supplier<@Nullable MethodObserver> observer) {
		this.handlers = handlers;
		this.observer = observer;
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		if (NestedProxy.takeReached(invocation)) {
			return invocation.proceed();
		}
		Object target = invocation.getThis();
		Class<?> targetClass = (target != null) ? AopUtils.getTargetClass(target)
				: invocation.getMethod().getDeclaringClass();
		for (LeaseAnnotationHandler<?, ?, ?> handler : this.handlers) {
			LeaseOperation<?> operation = handler.operations().find(invocation.getMethod(), targetClass);
			if (operation != null) {
				return invoke(invocation, targetClass, operation);
			}
		}
		return invocation.proceed();
	}

	/**
	 * Call a method.
	 * @param operation what one of its annotations says: the kind of result is the same
	 * for all of them
	 */
	private @Nullable Object invoke(MethodInvocation invocation, Class<?> targetClass, LeaseOperation<?> operation)
			throws Throwable {
		List<MethodLease> methodLeases;
		try {
			methodLeases = methodLeases(invocation, targetClass);
		}
		catch (RuntimeException ex) {
			return switch (operation.returnKind()) {
				case STAGE -> CompletableFuture.failedFuture(ex);
				case REACTIVE ->
					new ReactiveInvocation(invocation, operation.annotatedMethod().returned().toClass()).failing(ex);
				default -> throw ex;
			};
		}
		if (methodLeases.isEmpty()) {
			return invocation.proceed();
		}
		MethodObserver observer = this.observer.get();
		Function<@Nullable Object, MethodCallObservation> observation = (
				parent) -> (observer != null)
						? MethodCallObservation.of(this.observerFailed,
								() -> observer.began(invocation.getMethod(), targetClass, parent))
						: MethodCallObservation.NONE;
		return switch (operation.returnKind()) {
			case PLAIN -> new SyncInvocation(invocation, methodLeases).run(observation.apply(null));
			case STAGE -> {
				CompletionStageInvocation call = new CompletionStageInvocation(invocation, methodLeases,
						observation.apply(null));
				yield OtherAdvice.isAsyncAround(invocation, targetClass, this) ? call.startHere() : call.start();
			}
			case REACTIVE ->
				new ReactiveInvocation(invocation, operation.annotatedMethod().returned().toClass()).under(methodLeases,
						(observer != null) ? new ReactiveObservation(observer.contextKey(), observation) : null);
			case UNSUPPORTED -> throw new IllegalStateException("Refused at start-up");
		};
	}

	/**
	 * All expressions are evaluated before anything is acquired, for the caller, whose
	 * thread this is.
	 */
	private List<MethodLease> methodLeases(MethodInvocation invocation, Class<?> targetClass) {
		// Mostly there is one, for which a list that can grow would be much.
		List<MethodLease> methodLeases = List.of();
		for (LeaseAnnotationHandler<?, ?, ?> handler : this.handlers) {
			MethodLease methodLease = handler.methodLease(invocation, targetClass);
			if (methodLease != null) {
				methodLeases = methodLeases.isEmpty() ? List.of(methodLease)
						: Stream.concat(methodLeases.stream(), Stream.of(methodLease)).toList();
			}
		}
		return methodLeases;
	}

}
