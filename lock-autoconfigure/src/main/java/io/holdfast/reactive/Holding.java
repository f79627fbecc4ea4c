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
 * Holds something around reactive chains: acquired anew for each subscription, kept until
 * its completion, error or cancellation, released once. Signals that end a chain come
 * when the release was sent or, if they depend on its result, answered. Common part of
 * the services and annotated methods; applications use these.
 *
 * @param <L> the type of the lease
 */
public abstract class Holding<L extends Lease> {

	/**
	 * Acquire without blocking.
	 * @param context the leases that the subscriber runs under
	 * @return the lease to come; cancelled to give up
	 */
	protected abstract CompletableFuture<L> acquire(LeaseContext context);

	/**
	 * Return whether to cancel the chain if the lease is lost.
	 * @return whether it ends with its lease
	 */
	protected abstract boolean endsOnLoss();

	/**
	 * Release, as the chain has ended, without blocking.
	 * @param held the lease
	 * @param failure the error of the chain, or {@code null}
	 * @return completed when the release was sent or, if the error depends on its result,
	 * answered; with the error that the subscriber is to get, or {@code null} for none;
	 * never fails
	 */
	protected abstract CompletableFuture<@Nullable Throwable> end(L held, @Nullable Throwable failure);

	/**
	 * Return the chain in place of one whose lease was not acquired.
	 * @param <T> the type of its values
	 * @param failure why it was not
	 * @return the failure, if not overridden
	 */
	protected <T> Publisher<T> instead(Throwable failure) {
		return Mono.error(failure);
	}

	/**
	 * Put this around a chain.
	 * @param <T> the type of its values
	 * @param chain subscribed to when this was acquired, on a thread that may block
	 * @return the chain with this around it; demand is passed on
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
				// An error of that chain is wrapped.
				.onErrorMap((error) -> (failure.get() != null) ? failure.get() : error)
				.onErrorResume(NotAcquired.class, (error) -> instead(error.failure));
		});
	}

	/**
	 * Put this around a chain.
	 * @param <T> the type of its value
	 * @param chain subscribed to when this was acquired, on a thread that may block
	 * @return the chain with this around it; its value comes after the release
	 */
	public final <T> Mono<T> around(Mono<T> chain) {
		return around(chain.flux()).singleOrEmpty();
	}

	/**
	 * Acquire alone: the subscriber has to release it.
	 */
	final Mono<L> acquisition() {
		return Mono.deferContextual((view) -> acquisition(ReactiveLeaseContext.of(view)));
	}

	private Mono<L> acquisition(LeaseContext context) {
		return new Acquisition<>(() -> acquire(context), (held) -> endFailed(held, null));
	}

	private <T> Flux<T> inside(LeaseContext context, L held, Flux<T> chain) {
		// A loss completes the chain, since an error would not cancel it, and the end
		// finds it.
		Flux<T> whole = endsOnLoss() ? chain.takeUntilOther(Mono.create((sink) -> held.onLost(sink::success))) : chain;
		return whole.contextWrite((outer) -> outer.put(LeaseContext.class, context.with(held)));
	}

	/** The minHold of a lock does not count for a chain that did not complete. */
	private CompletableFuture<@Nullable Throwable> endFailed(L held, @Nullable Throwable failure) {
		if (held instanceof LockLease lock) {
			lock.waiveMinHold();
		}
		return end(held, failure);
	}

	/**
	 * Tells that this was not acquired, rather than something inside of the chain.
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
