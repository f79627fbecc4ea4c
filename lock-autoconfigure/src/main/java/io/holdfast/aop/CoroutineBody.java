package io.holdfast.aop;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
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

import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.core.PropagationContextElement;

/**
 * The coroutine in which a suspending function or a flow runs, as a part of its context:
 * each thread that it runs on has its leases. Needs kotlinx-coroutines-reactor.
 */
final class CoroutineBody extends AbstractCoroutineContextElement implements ThreadContextElement<LeaseContext.Scope> {

	private static final CoroutineContext.Key<CoroutineBody> KEY = new CoroutineContext.Key<>() {
	};

	/** Stands for a null element, which a flow may have and a publisher may not. */
	private static final Object NULL = new Object();

	private final LeaseContext leases;

	/** The proxy that the call is to reach next, as for {@link LeaseInterceptor}. */
	private final @Nullable Object next;

	private final AtomicBoolean reached = new AtomicBoolean();

	/** The first that comes is that of the body, others are parts of it. */
	private final AtomicReference<@Nullable Job> job = new AtomicReference<>();

	/** Create the body of a call. */
	CoroutineBody(LeaseContext leases, MethodInvocation call) {
		super(KEY);
		this.leases = leases;
		this.next = LeaseInterceptor.next(call);
	}

	/**
	 * Return the arguments of a suspending function, to run it as this body.
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
	 * Return a flow as publisher, for {@link #inStep} to make a flow of it again.
	 * @param body its coroutine, or {@code null} if it runs under no lease
	 */
	@SuppressWarnings("unchecked")
	static <T> Publisher<T> publisher(Object flow, @Nullable CoroutineBody body) {
		CoroutineContext context = (body != null) ? body : EmptyCoroutineContext.INSTANCE;
		Flow<Object> elements = FlowKt.map((Flow<Object>) flow,
				(element, continuation) -> (element != null) ? element : NULL);
		return (Publisher<T>) ReactorFlowKt.asFlux(elements,
				Hooks.isAutomaticContextPropagationEnabled() ? new PropagationContextElement().plus(context) : context);
	}

	/** Return a flow that is another one for each collection. */
	static Flow<Object> anew(Supplier<Object> flow) {
		return (collector, continuation) -> ((Flow<?>) flow.get()).collect(collector, continuation);
	}

	/**
	 * Return a flow that goes on when its collector has done with an element, as a flow
	 * without a publisher does. Else it would end, and its leases with it, while the
	 * collector still works on buffered elements.
	 * @param flow makes the flow for the leases of a collector
	 */
	static Flow<Object> inStep(Function<LeaseContext, Object> flow) {
		return (collector, continuation) -> {
			Flow<?> elements = (Flow<?>) flow.apply(leases(continuation));
			return FlowKt
				.<@Nullable Object, @Nullable Object>map(
						FlowKt.buffer(elements, Channel.RENDEZVOUS, BufferOverflow.SUSPEND),
						(element, each) -> (element != NULL) ? element : null)
				.collect(collector, continuation);
		};
	}

	/** Return the leases of the coroutine that calls a suspending function. */
	static LeaseContext callerLeases(MethodInvocation call) {
		@Nullable Object[] arguments = call.getArguments();
		return (arguments[arguments.length - 1] instanceof Continuation<?> continuation) ? leases(continuation)
				: LeaseContext.current();
	}

	/**
	 * Return the leases of a coroutine. Those of its thread may be the leases of other
	 * code, which has resumed it and waits for its next suspension.
	 */
	private static LeaseContext leases(Continuation<?> continuation) {
		CoroutineContext coroutine = continuation.getContext();
		CoroutineBody body = coroutine.get(KEY);
		if (body != null) {
			return body.leases;
		}
		Object owner = LeaseContext.currentOwner();
		boolean own = (owner instanceof CoroutineContext.Element element) ? coroutine.get(element.getKey()) == element
				: owner == null && isDispatched(coroutine);
		return own ? LeaseContext.current() : LeaseContext.empty();
	}

	/**
	 * Return whether a coroutine never runs within the code that resumes it. Blocking
	 * code whose leases its thread has then waits for it, by {@code runBlocking}.
	 */
	private static boolean isDispatched(CoroutineContext coroutine) {
		return coroutine.get(ContinuationInterceptor.Key) instanceof CoroutineDispatcher dispatcher
				&& dispatcher.isDispatchNeeded(coroutine);
	}

	/**
	 * Wait for the end of the body, which may go on for a while when it is cancelled. If
	 * it has not begun by then, it never does.
	 * @return completed when the body has ended; never fails
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
	 * Take note that a call of a suspending function has reached the proxy that it is
	 * meant for: the second half of a call, see {@link LeaseInterceptor}.
	 * @return whether it has; once for each call
	 */
	static boolean takeReached(MethodInvocation call) {
		@Nullable Object[] arguments = call.getArguments();
		CoroutineBody body = (arguments[arguments.length - 1] instanceof Continuation<?> continuation)
				? continuation.getContext().get(KEY) : null;
		return body != null && body.next != null && call instanceof ProxyMethodInvocation proxied
				&& proxied.getProxy() == body.next && body.reached.compareAndSet(false, true);
	}

	/** Only asked for its context: Spring makes a publisher of the body. */
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
