package io.holdfast.aop.observe;

import java.util.function.Function;

import io.micrometer.observation.Observation;
import io.micrometer.observation.contextpropagation.ObservationThreadLocalAccessor;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Has each subscription to a chain observed: as a child of what the subscriber's context
 * says, and as what the chain's own context says.
 *
 * @param observation starts to observe, given what the subscriber's context has
 * @since 0.1.0
 */
public record ReactiveObservation(Function<@Nullable Observation, MethodCallObservation> observation) {

	/** Where the context of Reactor has an observation. */
	private static final String KEY = ObservationThreadLocalAccessor.KEY;

	/**
	 * Put this around a chain.
	 * @return the chain; its observer knows of its end before its subscriber
	 */
	public <T> Flux<T> around(Function<MethodCallObservation, Flux<T>> chain) {
		return Flux.deferContextual((view) -> {
			MethodCallObservation begun = this.observation
				.apply((view.getOrDefault(KEY, null) instanceof Observation parent) ? parent : null);
			if (!begun.isObserved()) {
				return chain.apply(begun);
			}
			return Flux
				.usingWhen(Mono.just(begun), chain, (call) -> ended(call, null), ReactiveObservation::ended,
						(call) -> ended(call, null))
				.contextWrite((outer) -> outer.put(KEY, begun.observation()));
		});
	}

	private static Mono<Void> ended(MethodCallObservation call, @Nullable Throwable failure) {
		return Mono.create((sink) -> call.ended(failure, sink::success));
	}

}
