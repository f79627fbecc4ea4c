package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.stream.Collectors;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The orderly end of an instance, from the moment when it grants nothing new until its
 * store has stopped, and the way back. Thread-safe.
 */
final class ShutDown {

	private static final Log logger = LogFactory.getLog(ShutDown.class);

	private final LeaseEngine engine;

	private final EngineContext context;

	/** Held while the store is started or stopped. */
	private final Object lifecycle = new Object();

	ShutDown(LeaseEngine engine) {
		this.engine = engine;
		this.context = engine.context;
	}

	/** Start for the first time, unless that was done. */
	void begin() {
		synchronized (this.lifecycle) {
			if (this.context.isStarted()) {
				return;
			}
			// If it is closed, only to refuse what is asked for.
			this.engine.renewIdentity(!this.context.isClosed());
			if (this.context.isClosed()) {
				return;
			}
		}
		this.engine.fleet().join();
	}

	/**
	 * Shut down, unless {@link #resume resumed} meanwhile.
	 * @param patience how long work in flight may take
	 * @return completed when nothing is held any more, no release is without an answer,
	 * and the store has stopped to receive wake-ups
	 */
	CompletableFuture<@Nullable Void> start(Duration patience) {
		CompletableFuture<@Nullable Void> over = new CompletableFuture<>();
		this.context.setClosed(true);
		closeGates(Attempt::isInFlight).thenCompose((done) -> this.engine.keeper.drained())
			.thenCompose((done) -> letThrough())
			// With what they were granted.
			.thenCompose((done) -> this.engine.keeper.drained())
			.thenAccept((done) -> over.complete(null));
		if (!patience.isZero()) {
			logHeld(patience);
		}
		this.context.scheduler.schedule(() -> over.complete(null), patience.toNanos());
		// Not if it was resumed meanwhile.
		return over.thenCompose((done) -> this.context.isClosed() ? releaseRest() : over);
	}

	/**
	 * Who waits is told that nothing new is granted.
	 * @param spared who is not
	 * @return completed when every gate knows
	 */
	private CompletableFuture<@Nullable Void> closeGates(Predicate<Attempt> spared) {
		return CompletableFuture.allOf(this.engine.gates.values().stream().map((gate) -> {
			CompletableFuture<@Nullable Void> done = new CompletableFuture<>();
			gate.execute(() -> {
				try {
					if (this.context.isClosed()) {
						gate.close(spared);
					}
				}
				finally {
					done.complete(null);
				}
			});
			return done;
		}).toArray(CompletableFuture[]::new)).thenApply((done) -> null);
	}

	/**
	 * When those have their answers who asked under what was held. Nothing is by now, so
	 * there will be no more of them.
	 */
	private CompletableFuture<@Nullable Void> letThrough() {
		return this.engine.waiters()
			.thenCompose((waiters) -> CompletableFuture
				.allOf(waiters.stream().map(Waiter::result).toArray(CompletableFuture[]::new))
				.handle((done, error) -> null));
	}

	private void logHeld(Duration patience) {
		List<Hold> holds = this.engine.keeper.holds();
		if (!holds.isEmpty()) {
			String some = holds.stream().limit(3).map(Hold::description).collect(Collectors.joining(", "));
			int more = holds.size() - 3;
			logger.info("Waiting up to " + patience.toMillis() + " ms for what is held: " + some
					+ ((more > 0) ? " and " + more + " more" : ""));
		}
	}

	private CompletableFuture<@Nullable Void> releaseRest() {
		releaseHeld();
		// Those that are left asked under something of that, or are just giving up.
		return closeGates((attempt) -> false).thenCompose(
				(done) -> this.context.isClosed() ? stopAfterReleases() : CompletableFuture.completedFuture(null));
	}

	private void releaseHeld() {
		for (Hold hold : this.engine.keeper.holds()) {
			long kept = hold.keptFor(this.context.now());
			if (!this.engine.keeper.lose(hold, "this instance shut down before it was released")) {
				// Just released by its user, who is to have the store's answer to that.
				continue;
			}
			if (kept > 0) {
				this.engine.releases.retain(hold, kept, new CompletableFuture<>());
			}
			else {
				this.engine.releases.release(hold.gate.resource, hold.ask(this.context.now()), hold.doubtSince, null);
			}
		}
	}

	private CompletableFuture<@Nullable Void> stopAfterReleases() {
		// What was granted to somebody in the meantime.
		releaseHeld();
		// Not on the driver's thread, which the store may have to wait for.
		return CompletableFuture.allOf(this.engine.releases.answered(), this.engine.fleet().leave())
			.thenRunAsync(this::stopStore, this.context::execute);
	}

	/** Unless it was resumed meanwhile: then it is to go on listening. */
	private void stopStore() {
		synchronized (this.lifecycle) {
			if (this.context.isClosed()) {
				this.context.store.stop();
			}
		}
	}

	/** Start, or grant again if a shut-down has begun. */
	void resume() {
		synchronized (this.lifecycle) {
			if (!this.context.isClosed()) {
				begin();
				return;
			}
			leaveBehind();
			this.engine.renewIdentity(true);
			this.context.setClosed(false);
		}
		this.engine.fleet().join();
	}

	/**
	 * End what the shut-down has not ended yet. Copies of this process may go on as this
	 * one does, so no token may be used any more.
	 */
	private void leaveBehind() {
		releaseHeld();
		if (this.context.isStarted()) {
			String before = this.context.instanceId();
			this.engine.gates.values()
				.forEach((gate) -> gate.execute(() -> gate.close((attempt) -> !Tokens.isOf(attempt.token, before))));
		}
		this.engine.fleet().leave();
		this.context.store.stop();
	}

}
