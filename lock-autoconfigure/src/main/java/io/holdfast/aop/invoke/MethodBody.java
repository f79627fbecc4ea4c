package io.holdfast.aop.invoke;

import io.holdfast.LeaseContext;
import io.holdfast.annotation.OnLoss;
import io.holdfast.async.PromptAction;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/**
 * The method itself, on the current thread: under its leases, and interrupted if one of
 * them is lost that it is to end with.
 */
final class MethodBody {

	private MethodBody() {
	}

	/** Run the method. */
	static @Nullable Object run(MethodInvocation invocation, LeaseContext context, HeldMethodLease... held)
			throws Throwable {
		LeaseContext.Scope scope = context.open();
		LossInterrupt interrupt = null;
		Throwable failure = null;
		try {
			for (HeldMethodLease each : held) {
				if (each.onLoss() == OnLoss.INTERRUPT) {
					interrupt = (interrupt != null) ? interrupt : new LossInterrupt();
					each.lease().onLost((PromptAction) interrupt::lost);
				}
			}
			return NestedProxy.proceed(invocation);
		}
		catch (Throwable ex) {
			failure = ex;
			throw ex;
		}
		finally {
			if (interrupt != null) {
				interrupt.end(failure);
			}
			scope.close();
		}
	}

}
