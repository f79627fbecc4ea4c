package io.holdfast;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Code that returns a stage, and holds its lease until that is completed. One thread at a
 * time works at a call.
 *
 * @param <T> the type of the stage's value
 * @param <R> the type of what the caller gets
 */
final class AsyncLeasedCall<T extends @Nullable Object, R extends @Nullable Object> {

	private static final Log logger = LogFactory.getLog(AsyncLeasedCall.class);

	private final Supplier<? extends CompletionStage<T>> body;

	private final Function<T, R> answer;

	private final Thread caller = Thread.currentThread();

	/** Of the caller, whose thread this is: the code runs on another one. */
	private final LeaseContext context = LeaseContext.current();

	private final TransactionBinding.@Nullable Participation transaction;

	/** What the caller gets; completed when the release was answered. */
	private final CompletableFuture<R> result = new CompletableFuture<>();

	/** What is to be cancelled if the caller gives up. */
	private volatile @Nullable CompletableFuture<?> pending;

	private AsyncLeasedCall(Supplier<? extends CompletionStage<T>> body, boolean inTransaction, Function<T, R> answer) {
		this.body = body;
		this.transaction = inTransaction ? LeasedCalls.joinTransaction() : null;
		this.answer = answer;
	}

	/**
	 * Run code under a lease. Does not block.
	 * @param <T> the type of its value
	 * @param body the code
	 * @param inTransaction whether the transaction of the caller keeps the lease
	 * @param asked the lease to come
	 * @return the value to come; cancel it to give up
	 */
	static <T extends @Nullable Object> CompletableFuture<T> always(Supplier<? extends CompletionStage<T>> body,
			boolean inTransaction, CompletableFuture<? extends Lease> asked) {
		return new AsyncLeasedCall<T, T>(body, inTransaction, (value) -> value).start(asked, Optional::of, () -> {
			throw new IllegalStateException("There was nothing to acquire");
		});
	}

	/**
	 * Run code under a lease, if there is one to have. Does not block.
	 * @param <T> the type of its value
	 * @param body the code
	 * @param inTransaction whether the transaction of the caller keeps the lease
	 * @param asked the lease to come, or empty
	 * @return the outcome to come; cancel it to give up
	 */
	static <T extends @Nullable Object> CompletableFuture<LeasedResult<T>> ifAcquired(
			Supplier<? extends CompletionStage<T>> body, boolean inTransaction,
			CompletableFuture<? extends Optional<? extends Lease>> asked) {
		return new AsyncLeasedCall<T, LeasedResult<T>>(body, inTransaction, LeasedResult::of).start(asked,
				(lease) -> lease, LeasedResult::notAcquired);
	}

	private <G> CompletableFuture<R> start(CompletableFuture<G> asked, Function<G, Optional<? extends Lease>> lease,
			Supplier<R> otherwise) {
		this.result.whenComplete((value, failure) -> cancel(this.pending));
		await(asked);
		asked.thenApply(lease).whenComplete((granted, failure) -> {
			if (failure != null) {
				this.result.completeExceptionally(cause(failure));
			}
			else if (granted.isPresent()) {
				awayFromCaller(() -> call(granted.get()));
			}
			else {
				this.result.complete(otherwise.get());
			}
		});
		return this.result;
	}

	/**
	 * The caller's thread is not to be blocked by the code, also if there was nothing to
	 * wait for.
	 */
	private void awayFromCaller(Runnable action) {
		if (Thread.currentThread() != this.caller) {
			action.run();
			return;
		}
		Thread thread = new Thread(action, "holdfast-call");
		thread.setDaemon(true);
		try {
			thread.start();
		}
		catch (OutOfMemoryError ex) {
			// No threads are left: what was acquired must not be lost.
			action.run();
		}
	}

	private void call(Lease lease) {
		if (this.result.isDone()) {
			// Its caller has cancelled.
			release(lease::discardAsync, () -> {
			});
			return;
		}
		CompletionStage<T> stage;
		LeaseContext.Scope scope = this.context.with(lease).open();
		try {
			stage = stage();
		}
		catch (Throwable ex) {
			end(lease, () -> this.result.completeExceptionally(ex));
			return;
		}
		finally {
			scope.close();
		}
		await(stage);
		stage.whenComplete((value, failure) -> end(lease, () -> {
			if (failure != null) {
				this.result.completeExceptionally(cause(failure));
			}
			else {
				this.result.complete(this.answer.apply(value));
			}
		}));
	}

	private CompletionStage<T> stage() {
		@Nullable CompletionStage<T> stage = this.body.get();
		if (stage == null) {
			throw new IllegalStateException("The code under the lease returned null: it has to return a stage, "
					+ "which may be completed with null");
		}
		return stage;
	}

	private void end(Lease lease, Runnable then) {
		if (this.transaction != null && this.transaction.tryLeave(lease)) {
			then.run();
		}
		else {
			release(lease::releaseAsync, then);
		}
	}

	private static void release(Supplier<CompletableFuture<ReleaseResult>> release, Runnable then) {
		release.get().whenComplete((released, failure) -> {
			if (failure != null) {
				logger.warn(cause(failure).getMessage());
			}
			then.run();
		});
	}

	private void await(CompletionStage<?> stage) {
		CompletableFuture<?> future;
		try {
			future = stage.toCompletableFuture();
		}
		catch (RuntimeException ex) {
			// It cannot be cancelled, most likely by an UnsupportedOperationException.
			future = null;
		}
		this.pending = future;
		if (this.result.isDone()) {
			cancel(future);
		}
	}

	private static void cancel(@Nullable CompletableFuture<?> pending) {
		if (pending != null) {
			pending.cancel(true);
		}
	}

	private static Throwable cause(Throwable failure) {
		return (failure instanceof CompletionException && failure.getCause() != null) ? failure.getCause() : failure;
	}

}
