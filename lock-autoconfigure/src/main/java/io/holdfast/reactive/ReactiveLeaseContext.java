package io.holdfast.reactive;

import java.util.function.Function;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import reactor.core.publisher.Mono;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/**
 * Access to the {@link LeaseContext} of a reactive chain, which is in Reactor's context
 * under the key {@code LeaseContext.class}.
 *
 * @since 0.1.0
 */
public final class ReactiveLeaseContext {

	private ReactiveLeaseContext() {
	}

	/**
	 * Return the lease context of a chain: <pre class="code">
	 * ReactiveLeaseContext.current()
	 *     .flatMap((context) -&gt; rows.write(row, context.lock().fencingToken()))</pre>
	 * @return a Mono that always emits the subscriber's context, which may have no leases
	 */
	public static Mono<LeaseContext> current() {
		return Mono.deferContextual((view) -> Mono.just(of(view)));
	}

	/**
	 * Add a lease to the context of a chain as the innermost lease. For a lease that the
	 * application has acquired itself, so that requests inside the chain are nested in
	 * it. <pre class="code">
	 * chain.contextWrite(ReactiveLeaseContext.with(lease))</pre>
	 * @param lease the lease
	 * @return a function on Reactor's context
	 */
	public static Function<Context, Context> with(Lease lease) {
		return (context) -> context.put(LeaseContext.class, of(context).with(lease));
	}

	/**
	 * Return the lease context of a chain or, if the chain has none, of the subscribing
	 * thread.
	 */
	static LeaseContext of(ContextView view) {
		return view.<LeaseContext>getOrEmpty(LeaseContext.class).orElseGet(LeaseContext::current);
	}

}
