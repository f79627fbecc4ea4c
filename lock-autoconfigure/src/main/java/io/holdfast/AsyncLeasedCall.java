package io.holdfast;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;

import io.holdfast.async.AsyncCall;
import io.holdfast.async.CallResult;
import io.holdfast.async.LeaseInternals;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Call of code that returns a stage. The lease is held until the stage is completed, even
 * if the caller has cancelled its future.
 *
 * @param <T> the type of the stage's value
 * @param <R> the type of the caller's result
 */
final class AsyncLeasedCall<T extends @Nullable Object, R extends @Nullable Object> extends AsyncCall<Lease, R> {

	private static final Log logger = LogFactory.getLog(AsyncLeasedCall.class);

	private final Supplier<? extends CompletionStage<T>> body;

	private final Function<T, R> answer;

	/** Supplies the result if the lease is not granted. */
	private final Supplier<R> otherwise;

	/** Context of the calling thread, for the code, which runs on another thread. */
	private final LeaseContext context = LeaseContext.current();

	private final TransactionBinding.@Nullable Participation transaction;

	private AsyncLeasedCall(Supplier<? extends CompletionStage<T>> body, boolean inTransaction, Function<T, R> answer,
			Supplier<R> otherwise) {
		this.body = body;
		this.transaction = inTransaction ? LeasedCalls.joinTransaction() : null;
		this.answer = answer;
		this.otherwise = otherwise;
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
		return new AsyncLeasedCall<T, T>(body, inTransaction, (value) -> value, () -> {
			throw new IllegalStateException("There was nothing to acquire");
		}).start(acquisition, (lease) -> lease, false);
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
		return new AsyncLeasedCall<T, LeasedResult<T>>(body, inTransaction, LeasedResult::of, LeasedResult::notAcquired)
			.start(acquisition, (lease) -> lease.orElse(null), false);
	}

	@Override
	protected List<Lease> leases(Lease held) {
		return List.of(held);
	}

	@Override
	protected CompletionStage<R> run(Lease held) {
		return CallResult.<T>follow(() -> stage(held)).thenApply(this.answer);
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

	@Override
	protected CompletionStage<R> instead(@Nullable Throwable failure) throws Throwable {
		if (failure != null) {
			throw failure;
		}
		return CompletableFuture.completedFuture(this.otherwise.get());
	}

	@Override
	protected void discard(Lease held) {
		logged(held.discardAsync());
	}

	@Override
	protected CompletableFuture<@Nullable Throwable> end(Lease held, @Nullable Throwable failure) {
		if (failure != null) {
			LeasedCalls.failed(held);
		}
		boolean left = this.transaction != null && this.transaction.tryLeave(held);
		CompletableFuture<?> end = left ? CompletableFuture.completedFuture(null)
				: logged((held instanceof LeaseInternals own) ? own.sendReleaseAsync() : held.releaseAsync());
		return end.thenApply((done) -> failure);
	}

	private static CompletableFuture<?> logged(CompletableFuture<?> release) {
		return release.handle((released, failure) -> {
			if (failure != null) {
				logger.warn(CallResult.cause(failure).getMessage());
			}
			return released;
		});
	}

}
