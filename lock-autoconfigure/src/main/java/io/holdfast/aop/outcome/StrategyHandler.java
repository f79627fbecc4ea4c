package io.holdfast.aop.outcome;

import java.lang.reflect.Method;

import io.holdfast.HoldfastException;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredStrategy;
import io.holdfast.aop.method.AnnotatedMethod;
import io.holdfast.aop.method.ReturnKind;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.core.Nullness;
import org.springframework.util.ClassUtils;

/**
 * Asks the strategy of the application, and refuses results that its callers could not
 * use.
 *
 * @param strategy the strategy
 * @param returnKind the kind of result that the method has
 * @param annotatedMethod the method as its class has it
 */
public record StrategyHandler(NotAcquiredStrategy strategy, ReturnKind returnKind,
		AnnotatedMethod<?> annotatedMethod) implements NotAcquiredHandler {

	@Override
	public @Nullable Object take(MethodInvocation call, HoldfastException ex) throws Throwable {
		if (!(ex instanceof NotAcquiredException notAcquired)) {
			throw ex;
		}
		Method method = call.getMethod();
		boolean suspends = this.annotatedMethod.isSuspending();
		Class<?> type = suspends ? this.annotatedMethod.returned().toClass() : method.getReturnType();
		Object result = this.strategy.answer(method, notAcquired);
		if (type == void.class) {
			return null;
		}
		boolean fits = (result != null) ? ClassUtils.isAssignableValue(type, result)
				: (suspends || this.returnKind == ReturnKind.PLAIN)
						&& Nullness.forMethodReturnType(this.annotatedMethod.method()) != Nullness.NON_NULL;
		if (!fits) {
			throw new IllegalStateException(
					"The NotAcquiredStrategy " + this.strategy.getClass().getName() + " gave "
							+ ((result != null) ? "a " + result.getClass().getName() : "null") + " for "
							+ this.annotatedMethod + ": give "
							+ (suspends ? "a " + type.getName() + " itself" : "a result of its type") + ", or throw",
					ex);
		}
		return result;
	}

}
