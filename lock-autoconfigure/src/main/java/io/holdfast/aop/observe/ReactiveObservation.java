package io.holdfast.aop.observe;

import java.util.function.Function;

import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;

/**
 * Has each subscription to a chain observed: as a child of what the subscriber's context
 * says, and as what the chain's own context says.
 *
 * @param contextKey where Reactor's context has that
 * @param observation begins to observe, given what the subscriber's context has
 */
public record ReactiveObservation(Object contextKey, Function<@Nullable Object, MethodCallObservation> observation) {

	/**
	 * Put this around a chain.
	 * @param chain makes the chain for one subscription
	 * @return the chain; its observer knows of its end before its subscriber
	 */
	public <T> Flux<T> around(Function<MethodCallObservation, Flux<T>> chain) {
		return Flux.deferContextual((view) -> {
			MethodCallObservation begun = this.observation.apply(view.getOrDefault(this.contextKey, null));
			Object value = begun.contextValue();
			Flux<T> observed = chain.apply(begun)
				.doOnComplete(() -> begun.ended(null))
				.doOnError(begun::ended)
				.doOnCancel(() -> begun.ended(null));
			return (value != null) ? observed.contextWrite((outer) -> outer.put(this.contextKey, value)) : observed;
		});
	}

}
