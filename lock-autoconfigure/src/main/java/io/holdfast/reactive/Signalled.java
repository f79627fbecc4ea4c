package io.holdfast.reactive;

import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.FluxOperator;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * A chain that also signals errors which Reactor throws through it as fatal, such as a
 * missing class: leases around the chain would not be released, and the thread that
 * subscribes has no caller to throw it to. Only exceptions during the subscription can be
 * caught.
 *
 * @param <T> the type of the chain's values
 */
final class Signalled<T> extends FluxOperator<T, T> {

	/**
	 * Create it.
	 * @param chain the chain
	 */
	Signalled(Flux<T> chain) {
		super(chain);
	}

	@Override
	public void subscribe(CoreSubscriber<? super T> actual) {
		Signals<T> signals = new Signals<>(actual);
		try {
			this.source.subscribe(signals);
		}
		catch (Throwable ex) {
			if (!signals.fail(ex)) {
				throw ex;
			}
		}
	}

	/** Passes all signals on, and notes the end. */
	private static final class Signals<T> implements CoreSubscriber<T> {

		private final CoreSubscriber<? super T> actual;

		private volatile @Nullable Subscription subscription;

		private volatile boolean ended;

		Signals(CoreSubscriber<? super T> actual) {
			this.actual = actual;
		}

		@Override
		public Context currentContext() {
			return this.actual.currentContext();
		}

		@Override
		public void onSubscribe(Subscription subscription) {
			this.subscription = subscription;
			this.actual.onSubscribe(subscription);
		}

		@Override
		public void onNext(T value) {
			this.actual.onNext(value);
		}

		@Override
		public void onError(Throwable error) {
			this.ended = true;
			this.actual.onError(error);
		}

		@Override
		public void onComplete() {
			this.ended = true;
			this.actual.onComplete();
		}

		/** Ends the chain, unless it has ended. */
		boolean fail(Throwable error) {
			if (this.ended) {
				return false;
			}
			Subscription running = this.subscription;
			if (running == null) {
				Operators.error(this.actual, error);
			}
			else {
				running.cancel();
				onError(error);
			}
			return true;
		}

	}

}
