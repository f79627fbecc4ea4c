package io.holdfast.aop;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;

import io.holdfast.LeaseContext;
import io.holdfast.NotAcquiredException;
import io.holdfast.aop.Step.Held;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/**
 * A call of a method that returns its result: all happens on the thread of the caller.
 */
final class PlainCall {

	private final MethodInvocation invocation;

	private final List<Step> steps;

	/** The innermost first. */
	private final Deque<Held> held = new ArrayDeque<>(2);

	PlainCall(MethodInvocation invocation, List<Step> steps) {
		this.invocation = invocation;
		this.steps = steps;
	}

	/**
	 * Acquire, run the method, and release.
	 * @param watch who observes all of that
	 * @return what the caller gets
	 * @throws Throwable what the caller gets instead
	 */
	@Nullable Object run(CallWatch watch) throws Throwable {
		Throwable failure = null;
		try {
			return watch.run(this::run);
		}
		catch (Throwable ex) {
			failure = ex;
			throw ex;
		}
		finally {
			watch.ended(failure);
		}
	}

	private @Nullable Object run() throws Throwable {
		for (Step step : this.steps) {
			try {
				this.held.push(step.acquire());
			}
			catch (NotAcquiredException ex) {
				discard();
				return step.instead(ex);
			}
			catch (Throwable ex) {
				discard();
				throw ex;
			}
		}
		Object result = null;
		Throwable failure = null;
		try {
			result = proceed();
		}
		catch (Throwable ex) {
			failure = ex;
		}
		for (Held each : this.held) {
			failure = each.end(failure);
		}
		if (failure != null) {
			throw failure;
		}
		return result;
	}

	private @Nullable Object proceed() throws Throwable {
		LeaseContext context = LeaseContext.current();
		for (Iterator<Held> each = this.held.descendingIterator(); each.hasNext();) {
			context = context.with(each.next().lease());
		}
		return MethodBody.run(this.invocation, context, this.held);
	}

	private void discard() {
		this.held.forEach((each) -> each.discardAsync().join());
	}

}
