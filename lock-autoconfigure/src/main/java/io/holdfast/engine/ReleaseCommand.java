package io.holdfast.engine;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.holdfast.async.BlockingWait;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.StoreCommandException;
import org.jspecify.annotations.Nullable;

/**
 * The end of a token: its RELEASE, repeated until it is answered or the store has
 * forgotten the token by itself. Thread-safe.
 */
final class ReleaseCommand {

	private final EngineContext context;

	private final TokenReleases releases;

	private final Resource resource;

	private final AcquireCommand ended;

	/** Whether the token held: a waiter's is not in use any more. */
	private final boolean held;

	private final CompletableFuture<ReleaseReply> outcome = new CompletableFuture<>();

	private final CompletableFuture<@Nullable Void> over = new CompletableFuture<>();

	private final long pointlessAt;

	/**
	 * The store's count of reconnects from before a command that named the token and may
	 * not have run yet, or {@link Hold#NO_DOUBT}.
	 */
	private final long doubtSince;

	private boolean done;

	private int attempts;

	/** The last command that was sent. */
	private @Nullable CompletableFuture<ReleaseReply> command;

	/** The last attempt whose failure the observers know of. */
	private int lastObservedFailure;

	private @Nullable Future<?> timer;

	ReleaseCommand(EngineContext context, TokenReleases releases, Resource resource, AcquireCommand ended,
			long doubtSince) {
		this.context = context;
		this.releases = releases;
		this.resource = resource;
		this.ended = ended;
		this.doubtSince = doubtSince;
		this.held = releases.isInUse(ended.token());
		this.pointlessAt = context.scheduler.nanoTime()
				+ TimeUnit.MILLISECONDS.toNanos(ended.leaseMillis() + ended.claimMillis());
	}

	CompletableFuture<ReleaseReply> start(@Nullable AcquireCommand next) {
		this.releases.onReleasing(this);
		send(next);
		return this.outcome;
	}

	String token() {
		return this.ended.token();
	}

	Resource resource() {
		return this.resource;
	}

	boolean held() {
		return this.held;
	}

	/**
	 * Return a future that completes when the first command is answered, or is late.
	 */
	CompletableFuture<ReleaseReply> outcome() {
		return this.outcome;
	}

	/**
	 * Return a future that completes when any command is answered, or no more are sent.
	 */
	CompletableFuture<@Nullable Void> over() {
		return this.over;
	}

	/** Return why the first command failed; it has to have failed. */
	Throwable failure() {
		return BlockingWait.join(this.outcome.<Throwable>handle((reply, error) -> error));
	}

	private synchronized void send(@Nullable AcquireCommand next) {
		if (this.done) {
			return;
		}
		int attempt = ++this.attempts;
		CompletableFuture<ReleaseReply> command = EngineContext
			.sendUnobserved(() -> this.context.store.release(this.resource, this.ended, next));
		this.command = command;
		if (!command.isDone()) {
			this.timer = this.context.scheduler.schedule(() -> {
				observeFailure(attempt);
				onFailure(attempt,
						StoreCommandException.silence(this.context.settings.commandTimeout(), new TimeoutException()));
			}, this.context.commandTimeoutNanos());
		}
		command.whenComplete((reply, error) -> {
			if (error == null) {
				onAnswer(reply);
			}
			else {
				observeFailure(attempt);
				onFailure(attempt, error);
			}
		});
	}

	/** Tell the observers, once: a command may fail after it was late. */
	private void observeFailure(int attempt) {
		synchronized (this) {
			if (this.lastObservedFailure >= attempt) {
				return;
			}
			this.lastObservedFailure = attempt;
		}
		this.context.observers.failed(Command.RELEASE);
	}

	private void onAnswer(ReleaseReply reply) {
		synchronized (this) {
			if (this.done) {
				return;
			}
			this.done = true;
			disarm();
			if (this.doubtSince != Hold.NO_DOUBT && this.context.store.mayRunLate(this.doubtSince)) {
				// Once more, so late that every earlier command has run or is gone.
				this.context.scheduler.schedule(this::repeat, TimeUnit.MILLISECONDS.toNanos(this.ended.claimMillis()));
			}
		}
		this.outcome.complete(reply);
		this.releases.onReleaseOver(this);
	}

	private void repeat() {
		// Only once: late copies of this one do no harm, as it brings in no other token.
		new ReleaseCommand(this.context, this.releases, this.resource, this.ended, Hold.NO_DOUBT).start(null);
	}

	private void onFailure(int attempt, Throwable error) {
		boolean over;
		synchronized (this) {
			if (this.done || attempt != this.attempts) {
				return;
			}
			over = !trySchedule();
		}
		this.outcome.completeExceptionally(error);
		if (over) {
			this.releases.onReleaseOver(this);
		}
	}

	/** Send it again later; return false if that were too late to be of use. */
	private boolean trySchedule() {
		disarm();
		long delay = this.context.retryDelay() << Math.min(this.attempts - 1, 5);
		this.done = this.context.scheduler.nanoTime() + delay - this.pointlessAt >= 0;
		if (!this.done) {
			this.timer = this.context.scheduler.schedule(this::sendAgain, delay);
		}
		return !this.done;
	}

	private void sendAgain() {
		synchronized (this) {
			boolean kept = this.command != null && !this.command.isDone() && !this.context.isReached();
			if (this.done || !kept) {
				send(null);
				return;
			}
			// The store keeps the last command for its next connection.
			this.attempts++;
			if (trySchedule()) {
				return;
			}
		}
		this.releases.onReleaseOver(this);
	}

	private void disarm() {
		if (this.timer != null) {
			this.timer.cancel(false);
			this.timer = null;
		}
	}

}
