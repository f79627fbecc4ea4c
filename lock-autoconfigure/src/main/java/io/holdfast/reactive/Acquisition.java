package io.holdfast.reactive;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
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

	private enum AcquisitionState {

		SUBSCRIBED, WAITING, OVER

	}

	/** Subscription to the acquisition. */
	private final class Wait implements Subscription {

		private final CoreSubscriber<? super H> actual;

		private final AtomicReference<AcquisitionState> state = new AtomicReference<>(AcquisitionState.SUBSCRIBED);

		private volatile @Nullable CompletableFuture<H> future;

		Wait(CoreSubscriber<? super H> actual) {
			this.actual = actual;
		}

		@Override
		public void request(long n) {
			if (!Operators.validate(n)
					|| !this.state.compareAndSet(AcquisitionState.SUBSCRIBED, AcquisitionState.WAITING)) {
				return;
			}
			CompletableFuture<H> started;
			try {
				started = Acquisition.this.start.get();
			}
			catch (RuntimeException ex) {
				started = CompletableFuture.failedFuture(ex);
			}
			this.future = started;
			if (this.state.get() == AcquisitionState.OVER) {
				// The subscriber has cancelled before the future was set.
				started.cancel(true);
			}
			deliver(started);
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
			if (!this.state.compareAndSet(AcquisitionState.WAITING, AcquisitionState.OVER)) {
				if (held != null) {
					Acquisition.this.release.accept(held);
				}
			}
			else if (held != null) {
				this.actual.onNext(held);
				this.actual.onComplete();
			}
			else {
				this.actual.onError((error != null) ? CallResult.cause(error)
						: new IllegalStateException("There is no lease, and no error"));
			}
		}

		@Override
		public void cancel() {
			if (this.state.getAndSet(AcquisitionState.OVER) == AcquisitionState.WAITING) {
				CompletableFuture<H> waiting = this.future;
				if (waiting != null) {
					waiting.cancel(true);
				}
			}
		}

	}

}
