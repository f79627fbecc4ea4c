package io.holdfast.aop.invoke;

import io.holdfast.LeaseContext;
import io.holdfast.annotation.OnLoss;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/**
 * The method itself, on the current thread: under its leases, and interrupted if one of
 * them is lost that it is to end with.
 */
final class MethodBody {

	private MethodBody() {
	}

	/**
	 * Run the method.
	 * @param invocation the call
	 * @param context what it runs under
	 * @param held what was acquired for it
	 * @return what it returns
	 * @throws Throwable what it throws
	 */
	static @Nullable Object run(MethodInvocation invocation, LeaseContext context, HeldMethodLease... held)
			throws Throwable {
		LeaseContext.Scope scope = context.open();
		try {
			return endsOnLoss(held) ? runUnlessLost(invocation, held) : NestedProxy.proceed(invocation);
		}
		finally {
			scope.close();
		}
	}

	private static boolean endsOnLoss(HeldMethodLease... held) {
		for (HeldMethodLease each : held) {
			if (each.onLoss() == OnLoss.INTERRUPT) {
				return true;
			}
		}
		return false;
	}

	private static @Nullable Object runUnlessLost(MethodInvocation invocation, HeldMethodLease... held)
			throws Throwable {
		LossInterrupt lossInterrupt = new LossInterrupt();
		try {
			for (HeldMethodLease each : held) {
				if (each.onLoss() == OnLoss.INTERRUPT) {
					each.lease().onLost(lossInterrupt::lost);
				}
			}
			return NestedProxy.proceed(invocation);
		}
		finally {
			lossInterrupt.end();
		}
	}

}
