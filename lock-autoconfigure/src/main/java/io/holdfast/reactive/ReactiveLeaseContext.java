package io.holdfast.reactive;

import java.util.function.Function;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import reactor.core.publisher.Mono;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/**
 * The {@link LeaseContext} of a reactive chain. It is in Reactor's context, under the key
 * {@code LeaseContext.class}.
 *
 * @since 0.1.0
 */
public final class ReactiveLeaseContext {

	private ReactiveLeaseContext() {
	}

	/**
	 * Return the leases under which a chain runs: <pre class="code">
	 * ReactiveLeaseContext.current()
	 *     .flatMap((context) -&gt; rows.write(row, context.lock().fencingToken()))</pre>
	 * @return the context of the subscriber, empty if there is none; always a value
	 */
	public static Mono<LeaseContext> current() {
		return Mono.deferContextual((view) -> Mono.just(of(view)));
	}

	/**
	 * Run a chain under one more lease, as its innermost: for a lease acquired by hand,
	 * so that requests inside of the chain are nested in it. <pre class="code">
	 * chain.contextWrite(ReactiveLeaseContext.with(lease))</pre>
	 * @param lease the lease
	 * @return a change of Reactor's context
	 */
	public static Function<Context, Context> with(Lease lease) {
		return (context) -> context.put(LeaseContext.class, of(context).with(lease));
	}

	/**
	 * Return the leases of a chain; without any of its own, those of the subscribing
	 * thread.
	 */
	static LeaseContext of(ContextView view) {
		return view.<LeaseContext>getOrEmpty(LeaseContext.class).orElseGet(LeaseContext::current);
	}

}
