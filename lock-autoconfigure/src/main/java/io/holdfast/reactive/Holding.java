package io.holdfast.reactive;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LockLease;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Holds a lease around reactive chains. Each subscription acquires a new lease, which is
 * released once, after completion, error or cancellation. The end of the chain is emitted
 * after the release was sent or, if it depends on the result, answered. Base class for
 * the reactive services and for annotated methods; not for applications.
 *
 * @param <L> the type of the lease
 */
public abstract class Holding<L extends Lease> {

	/**
	 * Acquire a lease without blocking.
	 * @param context the lease context of the subscriber
	 * @return a future of the lease, which is cancelled to end the wait
	 */
	protected abstract CompletableFuture<L> acquire(LeaseContext context);

	/**
	 * Return whether a loss of the lease cancels the chain.
	 * @return whether the chain ends with its lease
	 */
	protected abstract boolean endsOnLoss();

	/**
	 * Release the lease after the end of the chain, without blocking.
	 * @param held the lease
	 * @param failure the error of the chain, or {@code null}
	 * @return a future of the error for the subscriber, or of {@code null} for none.
	 * Completed when the release was sent or, if the error depends on its result,
	 * answered; never fails
	 */
	protected abstract CompletableFuture<@Nullable Throwable> end(L held, @Nullable Throwable failure);

	/**
	 * Return a chain in place of one whose lease was not acquired.
	 * @param <T> the type of the chain's values
	 * @param failure the failure of the acquisition
	 * @return the chain; by default an error with the failure
	 */
	protected <T> Publisher<T> instead(Throwable failure) {
		return Mono.error(failure);
	}

	/**
	 * Hold a lease around a chain.
	 * @param <T> the type of the chain's values
	 * @param chain the chain, subscribed to after the acquisition, on a thread that may
	 * block
	 * @return the chain under its lease; demand is passed on
	 */
	public final <T> Flux<T> around(Flux<T> chain) {
		return Flux.deferContextual((view) -> {
			LeaseContext context = ReactiveLeaseContext.of(view);
			AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
			return Flux.usingWhen(acquisition(context).onErrorMap(NotAcquired::new),
					(held) -> inside(context, held, chain),
					(held) -> Mono.fromFuture(() -> end(held, null), true).doOnNext(failure::set).flatMap(Mono::error),
					(held, error) -> Mono.fromFuture(() -> endFailed(held, error), true).doOnNext(failure::set),
					(held) -> Mono.fromFuture(() -> endFailed(held, null), true))
				// Unwrap the error of the end, which usingWhen wraps.
				.onErrorMap((error) -> (failure.get() != null) ? failure.get() : error)
				.onErrorResume(NotAcquired.class, (error) -> instead(error.failure));
		});
	}

	/**
	 * Hold a lease around a chain.
	 * @param <T> the type of the chain's value
	 * @param chain the chain, subscribed to after the acquisition, on a thread that may
	 * block
	 * @return the chain under its lease; the value is emitted after the release
	 */
	public final <T> Mono<T> around(Mono<T> chain) {
		return around(chain.flux()).singleOrEmpty();
	}

	/**
	 * Acquire a lease that the subscriber must release.
	 */
	final Mono<L> acquisition() {
		return Mono.deferContextual((view) -> acquisition(ReactiveLeaseContext.of(view)));
	}

	private Mono<L> acquisition(LeaseContext context) {
		return new Acquisition<>(() -> acquire(context), (held) -> endFailed(held, null));
	}

	private <T> Flux<T> inside(LeaseContext context, L held, Flux<T> chain) {
		// A loss completes the chain, because an error would not cancel it. The end then
		// reports the loss.
		Flux<T> whole = endsOnLoss() ? chain.takeUntilOther(Mono.create((sink) -> held.onLost(sink::success))) : chain;
		return whole.contextWrite((outer) -> outer.put(LeaseContext.class, context.with(held)));
	}

	/** End the lease of a chain that has failed or was cancelled, without its minHold. */
	private CompletableFuture<@Nullable Throwable> endFailed(L held, @Nullable Throwable failure) {
		if (held instanceof LockLease lock) {
			lock.waiveMinHold();
		}
		return end(held, failure);
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
