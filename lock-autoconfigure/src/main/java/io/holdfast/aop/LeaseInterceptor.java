package io.holdfast.aop;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.support.AopUtils;

/**
 * Holds around the invocation of a method all that its annotations ask for: acquired in
 * the order of their guards, released in the reverse order.
 */
final class LeaseInterceptor implements MethodInterceptor {

	private final List<Guard<?, ?, ?>> guards;

	private final Supplier<@Nullable MethodObserver> observer;

	private final AtomicBoolean observerFailed = new AtomicBoolean();

	LeaseInterceptor(List<Guard<?, ?, ?>> guards, Supplier<@Nullable MethodObserver> observer) {
		this.guards = guards;
		this.observer = observer;
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		if (InnerProxy.takeReached(invocation)) {
			return invocation.proceed();
		}
		Object target = invocation.getThis();
		Class<?> targetClass = (target != null) ? AopUtils.getTargetClass(target)
				: invocation.getMethod().getDeclaringClass();
		for (Guard<?, ?, ?> guard : this.guards) {
			Plan<?> plan = guard.declarations().find(invocation.getMethod(), targetClass);
			if (plan != null) {
				return invoke(invocation, targetClass, plan);
			}
		}
		return invocation.proceed();
	}

	/**
	 * Call a method.
	 * @param plan what one of its annotations says: the kind of result is the same for
	 * all of them
	 */
	private @Nullable Object invoke(MethodInvocation invocation, Class<?> targetClass, Plan<?> plan) throws Throwable {
		List<Step> steps;
		try {
			steps = steps(invocation, targetClass);
		}
		catch (RuntimeException ex) {
			return switch (plan.resultKind()) {
				case STAGE -> CompletableFuture.failedFuture(ex);
				case REACTIVE -> new ReactiveCall(invocation, plan.declaration().returned().toClass()).failing(ex);
				default -> throw ex;
			};
		}
		if (steps.isEmpty()) {
			return invocation.proceed();
		}
		MethodObserver observer = this.observer.get();
		Function<@Nullable Object, CallWatch> watch = (parent) -> (observer != null)
				? CallWatch.of(this.observerFailed, () -> observer.began(invocation.getMethod(), targetClass, parent))
				: CallWatch.NONE;
		return switch (plan.resultKind()) {
			case PLAIN -> new PlainCall(invocation, steps).run(watch.apply(null));
			case STAGE -> {
				StageCall call = new StageCall(invocation, steps, watch.apply(null));
				yield OtherAdvice.isAsyncAround(invocation, targetClass, this) ? call.startHere() : call.start();
			}
			case REACTIVE -> new ReactiveCall(invocation, plan.declaration().returned().toClass()).under(steps,
					(observer != null) ? new ReactiveObservation(observer.contextKey(), watch) : null);
			case UNSUPPORTED -> throw new IllegalStateException("Refused at start-up");
		};
	}

	/**
	 * All expressions are evaluated before anything is acquired, for the caller, whose
	 * thread this is.
	 */
	private List<Step> steps(MethodInvocation invocation, Class<?> targetClass) {
		// Mostly there is one, for which a list that can grow would be much.
		List<Step> steps = List.of();
		for (Guard<?, ?, ?> guard : this.guards) {
			Step step = guard.step(invocation, targetClass);
			if (step != null) {
				steps = steps.isEmpty() ? List.of(step) : Stream.concat(steps.stream(), Stream.of(step)).toList();
			}
		}
		return steps;
	}

}
