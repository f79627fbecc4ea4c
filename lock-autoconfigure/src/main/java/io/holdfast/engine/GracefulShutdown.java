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
final class GracefulShutdown {

	private static final Log logger = LogFactory.getLog(GracefulShutdown.class);

	private final EngineContext context;

	private final LeaseRenewer renewer;

	private final TokenReleases releases;

	private final CoordinatorRegistry coordinators;

	private final Fleet fleet;

	private final LeaseStore.StoreNotifications notifications;

	/** Held while the store is started or stopped. */
	private final Object lifecycle = new Object();

	GracefulShutdown(EngineContext context, LeaseRenewer renewer, TokenReleases releases,
			CoordinatorRegistry coordinators, Fleet fleet) {
		this.context = context;
		this.renewer = renewer;
		this.releases = releases;
		this.coordinators = coordinators;
		this.fleet = fleet;
		this.notifications = new NotificationDispatcher(context, renewer, releases, coordinators, fleet);
	}

	/** Start for the first time, unless that was done. */
	void begin() {
		synchronized (this.lifecycle) {
			if (this.context.isStarted()) {
				return;
			}
			// If it is closed, only to refuse what is asked for.
			this.context.renewIdentity(this.context.isClosed() ? null : this.notifications);
			if (this.context.isClosed()) {
				return;
			}
		}
		this.fleet.join();
	}

	/**
	 * Shut down, unless {@link #resume resumed} before the end.
	 * @param patience how long work in flight may take
	 * @return completed when nothing is held any more, no release is without an answer,
	 * and the store has stopped to receive wake-ups
	 */
	CompletableFuture<@Nullable Void> start(Duration patience) {
		CompletableFuture<@Nullable Void> over = new CompletableFuture<>();
		this.context.setClosed(true);
		closeGates(Contender::isInFlight).thenCompose((done) -> this.renewer.drained())
			.thenCompose((done) -> letThrough())
			// With what they were granted.
			.thenCompose((done) -> this.renewer.drained())
			.thenAccept((done) -> over.complete(null));
		if (!patience.isZero()) {
			logHeld(patience);
		}
		this.context.scheduler.schedule(() -> over.complete(null), patience.toNanos());
		// Not if it was resumed before.
		return over.thenCompose((done) -> this.context.isClosed() ? releaseRest() : over);
	}

	/**
	 * Who waits is told that nothing new is granted.
	 * @param spared who is not
	 * @return completed when every coordinator knows
	 */
	private CompletableFuture<@Nullable Void> closeGates(Predicate<Contender> spared) {
		return CompletableFuture.allOf(this.coordinators.coordinators().stream().map((coordinator) -> {
			CompletableFuture<@Nullable Void> done = new CompletableFuture<>();
			coordinator.execute(() -> {
				try {
					if (this.context.isClosed()) {
						coordinator.close(spared);
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
	 * Wait for the answers to those that asked under what was held. Nothing is by now, so
	 * there will be no more of them.
	 */
	private CompletableFuture<@Nullable Void> letThrough() {
		return this.coordinators.waiters()
			.thenCompose((waiters) -> CompletableFuture
				.allOf(waiters.stream().map(Waiter::result).toArray(CompletableFuture[]::new))
				.handle((done, error) -> null));
	}

	private void logHeld(Duration patience) {
		List<Hold> holds = this.renewer.holds();
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
		return closeGates((contender) -> false).thenCompose(
				(done) -> this.context.isClosed() ? stopAfterReleases() : CompletableFuture.completedFuture(null));
	}

	private void releaseHeld() {
		for (Hold hold : this.renewer.holds()) {
			long kept = hold.keptFor(this.context.now());
			if (!this.renewer.lose(hold, "this instance shut down before it was released")) {
				// Just released by its user, who is to have the store's answer to that.
				continue;
			}
			if (kept > 0) {
				this.releases.retain(hold, kept, new CompletableFuture<>());
			}
			else {
				this.releases.release(hold.resource(), hold.toCommand(this.context.now()), hold.doubtSince, null);
			}
		}
	}

	private CompletableFuture<@Nullable Void> stopAfterReleases() {
		// What was granted since then.
		releaseHeld();
		// Not on the driver's thread, which the store may have to wait for.
		return CompletableFuture.allOf(this.releases.answered(), this.fleet.leave())
			.thenRunAsync(this::stopStore, this.context::execute);
	}

	/** Unless it was resumed before: then it is to go on listening. */
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
			this.context.renewIdentity(this.notifications);
			this.context.setClosed(false);
		}
		this.fleet.join();
	}

	/**
	 * End what the shut-down has not ended yet. Copies of this process may go on as this
	 * one does, so no token may be used any more.
	 */
	private void leaveBehind() {
		releaseHeld();
		if (this.context.isStarted()) {
			String before = this.context.instanceId();
			this.coordinators.coordinators()
				.forEach((coordinator) -> coordinator
					.execute(() -> coordinator.close((contender) -> !Tokens.isOf(contender.token, before))));
		}
		this.fleet.leave();
		this.context.store.stop();
	}

}
