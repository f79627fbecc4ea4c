package io.holdfast.aop;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;

import io.holdfast.LeaseContext;
import kotlin.Unit;
import kotlin.coroutines.AbstractCoroutineContextElement;
import kotlin.coroutines.Continuation;
import kotlin.coroutines.ContinuationInterceptor;
import kotlin.coroutines.CoroutineContext;
import kotlin.coroutines.EmptyCoroutineContext;
import kotlinx.coroutines.CoroutineDispatcher;
import kotlinx.coroutines.Job;
import kotlinx.coroutines.ThreadContextElement;
import kotlinx.coroutines.channels.BufferOverflow;
import kotlinx.coroutines.channels.Channel;
import kotlinx.coroutines.flow.Flow;
import kotlinx.coroutines.flow.FlowKt;
import kotlinx.coroutines.reactor.ReactorFlowKt;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Hooks;

import org.springframework.core.PropagationContextElement;

/**
 * Coroutine context element of a suspending function or flow. Opens the leases on each
 * thread on which the coroutine runs. Needs kotlinx-coroutines-reactor.
 */
final class CoroutineBody extends AbstractCoroutineContextElement implements ThreadContextElement<LeaseContext.Scope> {

	private static final CoroutineContext.Key<CoroutineBody> KEY = new CoroutineContext.Key<>() {
	};

	/** Substitute for a null element, which a flow may have but a publisher may not. */
	private static final Object NULL = new Object();

	private final LeaseContext leases;

	private final MethodCall call;

	/** Job of the body: the first job seen. Later jobs are children of the body. */
	private final AtomicReference<@Nullable Job> job = new AtomicReference<>();

	/** Create the context element of a call. */
	CoroutineBody(LeaseContext leases, MethodCall call) {
		super(KEY);
		this.leases = leases;
		this.call = call;
	}

	/**
	 * Return the arguments of a suspending function with this element in the context of
	 * the continuation.
	 * @param arguments the arguments of the call; the last one is the continuation
	 */
	@Nullable Object[] runningIn(@Nullable Object[] arguments) {
		@Nullable Object[] result = arguments.clone();
		if (result[result.length - 1] instanceof Continuation<?> continuation) {
			result[result.length - 1] = new BodyContinuation(continuation, this);
		}
		return result;
	}

	/**
	 * Convert a flow to a publisher, which {@link #inStep} converts back.
	 * @param body the context element of the flow, or {@code null} if it runs under no
	 * lease
	 */
	@SuppressWarnings("unchecked")
	static <T> Publisher<T> publisher(Object flow, @Nullable CoroutineBody body) {
		CoroutineContext context = (body != null) ? body : EmptyCoroutineContext.INSTANCE;
		Flow<Object> elements = FlowKt.map((Flow<Object>) flow,
				(element, continuation) -> (element != null) ? element : NULL);
		return (Publisher<T>) ReactorFlowKt.asFlux(elements,
				Hooks.isAutomaticContextPropagationEnabled() ? new PropagationContextElement().plus(context) : context);
	}

	/** Return a flow that collects a new flow each time. */
	static Flow<Object> anew(Supplier<Object> flow) {
		return (collector, continuation) -> ((Flow<?>) flow.get()).collect(collector, continuation);
	}

	/**
	 * Return a flow without buffer, which emits an element only after the collector has
	 * processed the previous one. With a buffer, the flow and its leases would end while
	 * the collector still processes buffered elements.
	 * @param flow creates the flow for the leases of a collector
	 */
	static Flow<Object> inStep(Function<LeaseContext, Object> flow) {
		return (collector, continuation) -> {
			Flow<?> elements = (Flow<?>) flow.apply(leases(continuation));
			return FlowKt
				.<@Nullable Object, @Nullable Object>map(
						FlowKt.buffer(elements, Channel.RENDEZVOUS, BufferOverflow.SUSPEND),
						(element, downstream) -> (element != NULL) ? element : null)
				.collect(collector, continuation);
		};
	}

	/** Return the leases of a suspending function's calling coroutine. */
	static LeaseContext callerLeases(MethodInvocation call) {
		@Nullable Object[] arguments = call.getArguments();
		return (arguments[arguments.length - 1] instanceof Continuation<?> continuation) ? leases(continuation)
				: LeaseContext.current();
	}

	/**
	 * Return the leases of a coroutine. The leases of the thread do not count if they
	 * belong to other code that has resumed the coroutine on its thread.
	 */
	private static LeaseContext leases(Continuation<?> continuation) {
		CoroutineContext coroutine = continuation.getContext();
		CoroutineBody body = coroutine.get(KEY);
		if (body != null) {
			return body.leases;
		}
		Object owner = LeaseContext.currentOwner();
		boolean own = (owner instanceof CoroutineContext.Element element) ? coroutine.get(element.getKey()) == element
				: isDispatched(coroutine);
		return own ? LeaseContext.current() : LeaseContext.empty();
	}

	/**
	 * Return whether a coroutine never runs within the code that resumes it. The leases
	 * of the thread then belong to code that waits for the coroutine by
	 * {@code runBlocking}.
	 */
	private static boolean isDispatched(CoroutineContext coroutine) {
		return coroutine.get(ContinuationInterceptor.Key) instanceof CoroutineDispatcher dispatcher
				&& dispatcher.isDispatchNeeded(coroutine);
	}

	/**
	 * Wait for the end of the body, which may go on for a while after its cancellation. A
	 * body that has not begun by now will never begin.
	 * @return a future that is completed when the body has ended; never fails
	 */
	CompletableFuture<@Nullable Void> ended() {
		CompletableFuture<@Nullable Void> ended = new CompletableFuture<>();
		Job begun = this.job.get();
		if (begun == null) {
			ended.complete(null);
			return ended;
		}
		begun.invokeOnCompletion((failure) -> {
			ended.complete(null);
			return Unit.INSTANCE;
		});
		return ended;
	}

	@Override
	public LeaseContext.Scope updateThreadContext(CoroutineContext context) {
		if (this.job.get() == null) {
			this.job.compareAndSet(null, context.get(Job.Key));
		}
		return this.leases.open(this);
	}

	@Override
	public void restoreThreadContext(CoroutineContext context, LeaseContext.Scope scope) {
		scope.close();
	}

	/**
	 * Return whether the call of a suspending function's coroutine has arrived at its
	 * inner proxy. The state is not that of the thread, because another coroutine may be
	 * resumed between the two proxies.
	 */
	static boolean tryEnterInnerProxy(MethodInvocation invocation) {
		@Nullable Object[] arguments = invocation.getArguments();
		CoroutineBody body = (arguments[arguments.length - 1] instanceof Continuation<?> continuation)
				? continuation.getContext().get(KEY) : null;
		return body != null && body.call.tryEnterInnerProxy(invocation);
	}

	/**
	 * Continuation that only supplies the context: Spring converts the function to a
	 * publisher.
	 */
	private record BodyContinuation(Continuation<?> caller, CoroutineBody body) implements Continuation<Object> {

		@Override
		public CoroutineContext getContext() {
			return this.caller.getContext().plus(this.body);
		}

		@Override
		public void resumeWith(Object result) {
			throw new IllegalStateException("The caller is resumed by its proxy");
		}

	}

}
