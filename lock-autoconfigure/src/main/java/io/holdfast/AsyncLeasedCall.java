package io.holdfast;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;

import io.holdfast.async.CallResult;
import io.holdfast.async.LeaseInternals;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Call of code that returns a stage. The lease is held until the stage is completed, even
 * if the caller has cancelled its future. At most one thread at a time works on a call.
 *
 * @param <T> the type of the stage's value
 * @param <R> the type of the caller's result
 */
final class AsyncLeasedCall<T extends @Nullable Object, R extends @Nullable Object> {

	private static final Log logger = LogFactory.getLog(AsyncLeasedCall.class);

	private final Supplier<? extends CompletionStage<T>> body;

	private final Function<T, R> answer;

	/** Context of the calling thread, for the code, which runs on another thread. */
	private final LeaseContext context = LeaseContext.current();

	private final TransactionBinding.@Nullable Participation transaction;

	/** Result for the caller, completed after the release was sent. */
	private final CallResult<R> result = new CallResult<>();

	private AsyncLeasedCall(Supplier<? extends CompletionStage<T>> body, boolean inTransaction, Function<T, R> answer) {
		this.body = body;
		this.transaction = inTransaction ? LeasedCalls.joinTransaction() : null;
		this.answer = answer;
	}

	/**
	 * Run code under a lease. Does not block.
	 * @param <T> the type of the code's value
	 * @param body the code
	 * @param inTransaction whether the caller's transaction keeps the lease
	 * @param acquisition the future of the lease
	 * @return a future of the value; cancelling it ends the wait
	 */
	static <T extends @Nullable Object> CompletableFuture<T> always(Supplier<? extends CompletionStage<T>> body,
			boolean inTransaction, CompletableFuture<? extends Lease> acquisition) {
		return new AsyncLeasedCall<T, T>(body, inTransaction, (value) -> value).start(acquisition, Optional::of, () -> {
			throw new IllegalStateException("There was nothing to acquire");
		});
	}

	/**
	 * Run code under a lease if the lease is granted. Does not block.
	 * @param <T> the type of the code's value
	 * @param body the code
	 * @param inTransaction whether the caller's transaction keeps the lease
	 * @param acquisition the future of the lease, empty if it is not granted
	 * @return a future of the outcome; cancelling it ends the wait
	 */
	static <T extends @Nullable Object> CompletableFuture<LeasedResult<T>> ifAcquired(
			Supplier<? extends CompletionStage<T>> body, boolean inTransaction,
			CompletableFuture<? extends Optional<? extends Lease>> acquisition) {
		return new AsyncLeasedCall<T, LeasedResult<T>>(body, inTransaction, LeasedResult::of).start(acquisition,
				(lease) -> lease, LeasedResult::notAcquired);
	}

	private <G> CompletableFuture<R> start(CompletableFuture<G> acquisition,
			Function<G, Optional<? extends Lease>> lease, Supplier<R> otherwise) {
		this.result.followCaller();
		this.result.cancelIfCallerGoes(acquisition);
		acquisition.thenApply(lease).whenComplete((granted, failure) -> {
			if (failure != null) {
				this.result.future().completeExceptionally(CallResult.cause(failure));
			}
			else if (granted.isPresent()) {
				this.result.runOffCallerThread(acquisition, () -> call(granted.get()));
			}
			else {
				this.result.future().complete(otherwise.get());
			}
		});
		return this.result.future();
	}

	private void call(Lease lease) {
		if (this.result.future().isDone()) {
			// The caller has cancelled.
			release(lease::discardAsync, () -> {
			});
			return;
		}
		this.result.markAbandonedIfCallerGoes(List.of(lease));
		CallResult.follow(() -> stage(lease)).whenComplete((value, failure) -> {
			if (failure != null) {
				LeasedCalls.failed(lease);
			}
			end(lease, () -> this.result.complete((failure != null) ? null : this.answer.apply(value), failure));
		});
	}

	private CompletionStage<T> stage(Lease lease) {
		LeaseContext.Scope scope = this.context.with(lease).open();
		try {
			@Nullable CompletionStage<T> stage = this.body.get();
			if (stage == null) {
				throw new IllegalStateException("The code under the lease returned null: it has to return a stage, "
						+ "which may be completed with null");
			}
			return stage;
		}
		finally {
			scope.close();
		}
	}

	private void end(Lease lease, Runnable then) {
		this.result.ended();
		if (this.transaction != null && this.transaction.tryLeave(lease)) {
			then.run();
		}
		else {
			release((lease instanceof LeaseInternals own) ? own::sendReleaseAsync : lease::releaseAsync, then);
		}
	}

	private static void release(Supplier<? extends CompletableFuture<?>> release, Runnable then) {
		release.get().whenComplete((released, failure) -> {
			if (failure != null) {
				logger.warn(CallResult.cause(failure).getMessage());
			}
			then.run();
		});
	}

}
