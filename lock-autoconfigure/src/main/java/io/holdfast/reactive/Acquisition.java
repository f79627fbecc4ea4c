package io.holdfast.reactive;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;

import io.holdfast.async.CallResult;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/**
 * Mono of a lease. Each subscription acquires a new lease on its first request. The lease
 * is either emitted or, if the subscriber has cancelled before, released. Reactor's own
 * {@code Mono.fromFuture} would pass a lease or error after a cancellation to global
 * hooks.
 *
 * @param <H> the type of the lease
 */
final class Acquisition<H> extends Mono<H> {

	private final Supplier<CompletableFuture<H>> start;

	private final Consumer<H> release;

	/**
	 * Create the acquisition.
	 * @param start starts an acquisition; cancelling its future ends the wait
	 * @param release releases a lease after a cancellation, without blocking
	 */
	Acquisition(Supplier<CompletableFuture<H>> start, Consumer<H> release) {
		this.start = start;
		this.release = release;
	}

	@Override
	public void subscribe(CoreSubscriber<? super H> actual) {
		actual.onSubscribe(new Wait(actual));
	}

	/** Subscription to the acquisition. */
	private final class Wait implements Subscription {

		private final CoreSubscriber<? super H> actual;

		private final AtomicBoolean requested = new AtomicBoolean();

		/** Lease or error for the subscriber; cancelled by the subscriber. */
		private final CompletableFuture<H> outcome = new CompletableFuture<>();

		Wait(CoreSubscriber<? super H> actual) {
			this.actual = actual;
		}

		@Override
		public void request(long n) {
			if (!Operators.validate(n) || this.outcome.isDone() || this.requested.getAndSet(true)) {
				return;
			}
			CompletableFuture<H> started = start();
			this.outcome.whenComplete((held, error) -> started.cancel(true));
			deliver(started);
		}

		private CompletableFuture<H> start() {
			try {
				return Acquisition.this.start.get();
			}
			catch (RuntimeException ex) {
				return CompletableFuture.failedFuture(ex);
			}
		}

		/**
		 * Deliver the lease, never on the requesting thread: this may be an event loop,
		 * and the subscriber may block.
		 */
		private void deliver(CompletableFuture<H> started) {
			Thread asking = Thread.currentThread();
			AtomicBoolean asks = new AtomicBoolean(true);
			started.whenComplete((held, error) -> {
				if (Thread.currentThread() == asking && asks.get()) {
					CallResult.runOnOtherThread(started, () -> answered(held, error));
				}
				else {
					answered(held, error);
				}
			});
			asks.set(false);
		}

		private void answered(@Nullable H held, @Nullable Throwable error) {
			if (held == null) {
				Throwable failure = (error != null) ? CallResult.cause(error)
						: new IllegalStateException("There is no lease, and no error");
				if (this.outcome.completeExceptionally(failure)) {
					this.actual.onError(failure);
				}
			}
			else if (this.outcome.complete(held)) {
				this.actual.onNext(held);
				this.actual.onComplete();
			}
			else {
				Acquisition.this.release.accept(held);
			}
		}

		@Override
		public void cancel() {
			this.outcome.cancel(false);
		}

	}

}
