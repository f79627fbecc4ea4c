package io.holdfast.engine;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;

import org.jspecify.annotations.Nullable;

import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.LeaseStore.Ask;
import io.holdfast.engine.LeaseStore.ReleaseReply;

/**
 * The end of a token: its RELEASE, repeated until it is answered or the store has
 * forgotten the token by itself. Thread-safe.
 */
final class Release {

	private final LeaseEngine engine;

	private final Resource resource;

	private final Ask ended;

	/** What the first command came to; fails if it failed or was not answered in time. */
	private final CompletableFuture<ReleaseReply> outcome = new CompletableFuture<>();

	private final long pointlessAt;

	private boolean doubtful;

	/** Whether none comes after it, even if it is not answered. */
	private boolean last;

	private boolean done;

	private int attempts;

	private Scheduler.@Nullable Timer timer;

	Release(LeaseEngine engine, Resource resource, Ask ended, boolean doubtful) {
		this.engine = engine;
		this.resource = resource;
		this.ended = ended;
		this.doubtful = doubtful;
		this.pointlessAt = engine.now() + TimeUnit.MILLISECONDS.toNanos(ended.leaseMillis() + ended.claimMillis());
	}

	CompletableFuture<ReleaseReply> start(@Nullable Ask next) {
		this.engine.releases.add(this.outcome);
		send(next);
		return this.outcome;
	}

	private synchronized void send(@Nullable Ask next) {
		if (this.done) {
			return;
		}
		int attempt = ++this.attempts;
		AtomicBoolean told = new AtomicBoolean();
		CompletableFuture<ReleaseReply> command = LeaseEngine
			.sent(() -> this.engine.store.release(this.resource, this.ended, next));
		if (!command.isDone()) {
			this.timer = this.engine.scheduler.schedule(() -> {
				tell(told);
				failed(attempt, StoreFailure.silence(this.engine.settings.commandTimeout(), new TimeoutException()));
			}, this.engine.commandTimeoutNanos());
		}
		command.whenComplete((reply, error) -> {
			if (error == null) {
				answered(reply);
			}
			else {
				tell(told);
				failed(attempt, error);
			}
		});
	}

	/** A command that fails although nobody waits for it any more has failed once. */
	private void tell(AtomicBoolean told) {
		if (told.compareAndSet(false, true)) {
			this.engine.observers.failed(Command.RELEASE);
		}
	}

	private void answered(ReleaseReply reply) {
		synchronized (this) {
			if (this.done) {
				return;
			}
			this.done = true;
			disarm();
			if (this.doubtful && !this.last && !this.engine.store.isOrdered()) {
				// Once more, so late that whatever was under way has run or is gone.
				CompletableFuture<?> stragglers = this.engine.store.stragglers();
				this.engine.scheduler.schedule(() -> again(stragglers),
						TimeUnit.MILLISECONDS.toNanos(this.ended.claimMillis()));
			}
		}
		this.outcome.complete(reply);
		this.engine.releases.remove(this.outcome);
	}

	/** And if the driver is not done by then, also when it is. */
	private void again(CompletableFuture<?> stragglers) {
		// Looked at first: what it does meanwhile may come just behind this.
		boolean done = stragglers.isDone();
		repeat();
		if (!done) {
			stragglers.whenComplete((over, error) -> this.engine.scheduler.schedule(this::repeat, 0));
		}
	}

	private void repeat() {
		Release repeated = new Release(this.engine, this.resource, this.ended, false);
		// Late copies of it do no harm: it brings in nobody.
		repeated.last = true;
		repeated.start(null);
	}

	private void failed(int attempt, Throwable error) {
		synchronized (this) {
			if (this.done || attempt != this.attempts) {
				return;
			}
			this.doubtful = true;
			disarm();
			long delay = this.engine.retryDelay() << Math.min(attempt - 1, 5);
			if (this.engine.now() + delay - this.pointlessAt < 0) {
				this.timer = this.engine.scheduler.schedule(() -> send(null), delay);
			}
			else {
				this.done = true;
			}
		}
		this.outcome.completeExceptionally(error);
		this.engine.releases.remove(this.outcome);
	}

	private void disarm() {
		if (this.timer != null) {
			this.timer.cancel();
			this.timer = null;
		}
	}

}
