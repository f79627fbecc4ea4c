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
 * Acquires anew for each subscription, when the value is requested. The lease goes to the
 * subscriber or, if that has cancelled, back: one of the two, the faster. Reactor's own
 * bridge from futures would hand it, or an error, to global hooks.
 *
 * @param <H> the type of the lease
 */
final class Acquisition<H> extends Mono<H> {

	private final Supplier<CompletableFuture<H>> start;

	private final Consumer<H> giveBack;

	/**
	 * Create the acquisition.
	 * @param start asks; the future's cancellation ends the wait
	 * @param giveBack releases a lease that is not wanted any more, without blocking
	 */
	Acquisition(Supplier<CompletableFuture<H>> start, Consumer<H> giveBack) {
		this.start = start;
		this.giveBack = giveBack;
	}

	@Override
	public void subscribe(CoreSubscriber<? super H> actual) {
		actual.onSubscribe(new Wait(actual));
	}

	private enum AcquisitionState {

		SUBSCRIBED, WAITING, OVER

	}

	/** One subscription. */
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
				// Cancelled before there was a future to cancel.
				started.cancel(true);
			}
			deliver(started);
		}

		/**
		 * Deliver the lease on another thread than the caller's, also if it is there at
		 * once: the caller may be an event loop, and the subscriber may block.
		 */
		private void deliver(CompletableFuture<H> started) {
			Thread asking = Thread.currentThread();
			AtomicBoolean asks = new AtomicBoolean(true);
			started.whenComplete((held, error) -> {
				if (Thread.currentThread() == asking && asks.get()) {
					CallResult.onOtherThread(started, () -> answered(held, error));
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
					Acquisition.this.giveBack.accept(held);
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
