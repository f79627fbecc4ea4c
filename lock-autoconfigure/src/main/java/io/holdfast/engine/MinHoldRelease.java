package io.holdfast.engine;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.holdfast.ReleaseResult;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.StoreCommandException;

/**
 * The end of a hold that its user has released, but that is to keep others out for a
 * while: its lease is to end by itself then, should this instance end first; otherwise it
 * is handed over. The command is repeated until it is answered, or the store has
 * forgotten the lease by itself. Thread-safe.
 */
final class MinHoldRelease {

	private final EngineContext context;

	private final HoldLosses losses;

	private final Hold hold;

	private final long endsAt;

	private final CompletableFuture<ReleaseResult> outcome;

	/** Changed by one command after the other. */
	private volatile int attempts;

	/**
	 * Create a retention that is yet to be sent.
	 * @param endsAt when it is to be over for others
	 * @param outcome completed by what the first command comes to; fails if it fails or
	 * is not answered in time
	 */
	MinHoldRelease(EngineContext context, HoldLosses losses, Hold hold, long endsAt,
			CompletableFuture<ReleaseResult> outcome) {
		this.context = context;
		this.losses = losses;
		this.hold = hold;
		this.endsAt = endsAt;
		this.outcome = outcome;
	}

	void send() {
		// Whole milliseconds, not less.
		long millis = TimeUnit.NANOSECONDS.toMillis(this.endsAt - this.context.scheduler.nanoTime() + 999_999);
		CompletableFuture<ReleaseReply> command = this.context.send(Command.RETAIN,
				() -> this.context.store.retain(this.hold.renewalCommand(millis)));
		Future<?> silence = this.context.scheduler.schedule(() -> {
			this.context.observers.failed(Command.RETAIN);
			this.outcome.completeExceptionally(EngineExceptions.retentionTrouble(this.hold.resource(),
					StoreCommandException.silence(this.context.settings.commandTimeout(), new TimeoutException())));
			// What comes later must not be overtaken by it.
			command.cancel(true);
		}, this.context.commandTimeoutNanos());
		command.whenComplete((reply, error) -> {
			silence.cancel(false);
			if (error == null) {
				this.outcome.complete(this.losses.judgeRelease(this.hold, reply));
			}
			else {
				this.outcome.completeExceptionally(EngineExceptions.retentionTrouble(this.hold.resource(), error));
				repeat();
			}
		});
	}

	private void repeat() {
		long at = this.context.scheduler.nanoTime() + (this.context.retryDelay() << Math.min(this.attempts++, 5));
		if (at - this.endsAt < 0 && at - this.hold.grantedUntil() < 0) {
			this.context.scheduler.schedule(this::send, at - this.context.scheduler.nanoTime());
		}
	}

}
