package io.holdfast.reactive;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;

import io.holdfast.LeaseContext;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Holds leases around reactive chains. Each subscription acquires new leases, which are
 * released once, after completion, error or cancellation. The end of the chain is emitted
 * after the release was sent or, if it depends on the result, answered. Base class for
 * the reactive services and for annotated methods; not for applications.
 *
 * @param <L> the type of the leases
 */
public abstract class Holding<L> {

	/**
	 * Acquire the leases without blocking.
	 * @param context the lease context of the subscriber
	 * @return a future of the leases, which is cancelled to end the wait
	 */
	protected abstract CompletableFuture<L> acquire(LeaseContext context);

	/**
	 * Return the lease context of the chain.
	 * @param held the leases
	 * @param outer the lease context of the subscriber
	 * @return the context with the leases
	 */
	protected abstract LeaseContext inside(L held, LeaseContext outer);

	/**
	 * Run an action on the loss of a lease, if a loss cancels the chain.
	 * @param held the leases
	 * @param action the action
	 */
	protected abstract void onLoss(L held, Runnable action);

	/**
	 * Release the leases after the end of the chain, without blocking.
	 * @param held the leases
	 * @param failure the error of the chain, or {@code null}
	 * @param completed whether the chain is completed: it has not failed, and was not
	 * cancelled
	 * @return a future of the error for the subscriber, or of {@code null} for none.
	 * Completed when the release was sent or, if the error depends on its result,
	 * answered; never fails
	 */
	protected abstract CompletableFuture<@Nullable Throwable> end(L held, @Nullable Throwable failure,
			boolean completed);

	/**
	 * Return a chain in place of one whose leases were not acquired.
	 * @param <T> the type of the chain's values
	 * @param failure the failure of the acquisition
	 * @return the chain; by default an error with the failure
	 */
	protected <T> Publisher<T> instead(Throwable failure) {
		return Mono.error(failure);
	}

	/**
	 * Hold leases around a chain.
	 * @param <T> the type of the chain's values
	 * @param chain the chain, subscribed to after the acquisition, on a thread that may
	 * block
	 * @return the chain under its leases; demand is passed on
	 */
	public final <T> Flux<T> around(Flux<T> chain) {
		return Flux.deferContextual((view) -> {
			LeaseContext context = ReactiveLeaseContext.of(view);
			AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
			return Flux
				.usingWhen(acquisition(context).onErrorMap(NotAcquired::new), (held) -> under(held, context, chain),
						(held) -> Mono.fromFuture(() -> end(held, null, true), true)
							.doOnNext(failure::set)
							.flatMap(Mono::error),
						(held, error) -> Mono.fromFuture(() -> end(held, error, false), true).doOnNext(failure::set),
						(held) -> Mono.fromFuture(() -> end(held, null, false), true))
				// Unwrap the error of the end, which usingWhen wraps.
				.onErrorMap((error) -> (failure.get() != null) ? failure.get() : error)
				.onErrorResume(NotAcquired.class, (error) -> instead(error.failure));
		});
	}

	/**
	 * Hold leases around a chain.
	 * @param <T> the type of the chain's value
	 * @param chain the chain, subscribed to after the acquisition, on a thread that may
	 * block
	 * @return the chain under its leases; the value is emitted after the release
	 */
	public final <T> Mono<T> around(Mono<T> chain) {
		return around(chain.flux()).singleOrEmpty();
	}

	/**
	 * Acquire leases that the subscriber must release.
	 */
	final Mono<L> acquisition() {
		return Mono.deferContextual((view) -> acquisition(ReactiveLeaseContext.of(view)));
	}

	private Mono<L> acquisition(LeaseContext context) {
		return new Acquisition<>(() -> acquire(context), (held) -> end(held, null, false));
	}

	private <T> Flux<T> under(L held, LeaseContext context, Flux<T> chain) {
		// A loss completes the chain, because an error would not cancel it. The end then
		// reports the loss.
		return chain.takeUntilOther(Mono.create((sink) -> onLoss(held, sink::success)))
			.contextWrite((outer) -> outer.put(LeaseContext.class, inside(held, context)));
	}

	/**
	 * Marks the failure of this acquisition, as opposed to a failure inside the chain.
	 */
	private static final class NotAcquired extends RuntimeException {

		private static final long serialVersionUID = 1L;

		private final Throwable failure;

		NotAcquired(Throwable failure) {
			super(null, failure, false, false);
			this.failure = failure;
		}

	}

}
