package io.holdfast.aop;

import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.ProxyMethodInvocation;

/**
 * The attempts of one call, which advice outside of the permits repeats, or the
 * subscriptions to its result. A failed run keeps its permits for their {@code minHold},
 * so that the next attempt has none: the caller is to learn of the failure, not only of
 * the missing permits. Thread-safe.
 */
final class CallAttempts {

	private volatile @Nullable FailedRun failed;

	/**
	 * Return the attempts of a call. Advice that repeats a call clones its invocation,
	 * and clones share their attributes.
	 */
	static CallAttempts of(MethodInvocation invocation) {
		if (!(invocation instanceof ProxyMethodInvocation call)) {
			return new CallAttempts();
		}
		String name = CallAttempts.class.getName();
		if (call.getUserAttribute(name) instanceof CallAttempts known) {
			return known;
		}
		CallAttempts attempts = new CallAttempts();
		call.setUserAttribute(name, attempts);
		return attempts;
	}

	/**
	 * Note the end of a run.
	 * @param failure the failure, or {@code null} if the run returned
	 * @param keptUntil the end of the minHold of its permits
	 */
	void ended(@Nullable Throwable failure, long keptUntil) {
		this.failed = (failure != null) ? new FailedRun(failure, keptUntil) : null;
	}

	/** Return the failure of the last run, if its permits are still kept. */
	@Nullable Throwable failure() {
		FailedRun last = this.failed;
		return (last != null && last.keptUntil() - System.nanoTime() > 0) ? last.failure() : null;
	}

	private record FailedRun(Throwable failure, long keptUntil) {

	}

}
