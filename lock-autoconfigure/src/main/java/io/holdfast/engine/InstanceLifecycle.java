package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The life of an instance: its start; its graceful shut-down, from the moment when it
 * grants nothing new until its store has stopped; and the way back. Thread-safe.
 */
final class InstanceLifecycle {

	private static final Log logger = LogFactory.getLog(InstanceLifecycle.class);

	private final EngineContext context;

	private final LeaseRenewer renewer;

	private final TokenReleases releases;

	private final ResourceQueues queues;

	/** Held while the store is started or stopped. */
	private final Object storeLock = new Object();

	/** How often it was resumed: a shut-down goes no further after that. */
	private volatile int resumptions;

	InstanceLifecycle(ResourceQueues queues) {
		this.context = queues.context;
		this.renewer = queues.renewer;
		this.releases = queues.releases;
		this.queues = queues;
	}

	/** Start the instance for the first time, unless that was done. */
	void startInstance() {
		synchronized (this.storeLock) {
			if (this.context.isStarted()) {
				return;
			}
			// If it is closed, only to refuse requests.
			this.context.renewIdentity(this.context.isClosed() ? null : this.queues);
			if (!this.context.isClosed()) {
				joinFleet();
			}
		}
	}

	private void joinFleet() {
		Membership membership = this.context.membership();
		if (membership != null) {
			membership.join();
		}
	}

	private CompletableFuture<@Nullable Void> leaveFleet() {
		Membership membership = this.context.membership();
		return (membership != null) ? membership.leave() : CompletableFuture.completedFuture(null);
	}

	/**
	 * Shut down, unless {@link #resume resumed} before the end.
	 * @param patience how long work in flight may take
	 * @return completed when nothing is held any more, no release is without an answer,
	 * and the store has stopped to receive wake-ups
	 */
	CompletableFuture<@Nullable Void> shutDown(Duration patience) {
		CompletableFuture<@Nullable Void> over = new CompletableFuture<>();
		int resumptionsBefore = this.resumptions;
		this.context.setClosed(true);
		closeQueues(resumptionsBefore).thenCompose((done) -> this.renewer.awaitDrained())
			.thenAccept((done) -> over.complete(null));
		if (!patience.isZero()) {
			logHeld(patience);
		}
		this.context.scheduler.schedule(() -> over.complete(null), patience.toNanos());
		return over.thenCompose((done) -> isCurrent(resumptionsBefore) ? releaseRest(resumptionsBefore) : over);
	}

	/** Return whether a shut-down is still to go on, as it was not resumed since. */
	private boolean isCurrent(int resumptionsBefore) {
		return this.context.isClosed() && this.resumptions == resumptionsBefore;
	}

	/**
	 * Tell waiters that nothing new is granted.
	 * @param resumptionsBefore how often it was resumed when the shut-down began
	 * @return completed when every queue knows
	 */
	private CompletableFuture<@Nullable Void> closeQueues(int resumptionsBefore) {
		return inEvents(this.queues.all(), (queue) -> queue::execute, (queue) -> {
			if (isCurrent(resumptionsBefore)) {
				queue.endWaits(this.context.instanceId());
			}
		});
	}

	private static <T> CompletableFuture<@Nullable Void> inEvents(Stream<T> subjects, Function<T, Executor> executor,
			Consumer<T> event) {
		return CompletableFuture.allOf(subjects.map((subject) -> {
			CompletableFuture<@Nullable Void> done = new CompletableFuture<>();
			executor.apply(subject).execute(() -> {
				// Its exceptions are for the executor, and must not keep the shut-down.
				try {
					event.accept(subject);
				}
				finally {
					done.complete(null);
				}
			});
			return done;
		}).toArray(CompletableFuture[]::new)).thenApply((done) -> null);
	}

	private void logHeld(Duration patience) {
		List<Hold> holds = this.renewer.holds();
		if (!holds.isEmpty()) {
			String some = holds.stream().limit(3).map(Hold::description).collect(Collectors.joining(", "));
			int more = holds.size() - 3;
			logger.info("Waiting up to " + patience.toMillis() + " ms for leases that are held: " + some
					+ ((more > 0) ? " and " + more + " more" : ""));
		}
	}

	private CompletableFuture<@Nullable Void> releaseRest(int resumptionsBefore) {
		return releaseHeld()
			// The others are just giving up.
			.thenCompose((done) -> closeQueues(resumptionsBefore))
			.thenCompose((done) -> isCurrent(resumptionsBefore) ? stopAfterReleases(resumptionsBefore)
					: CompletableFuture.completedFuture(null));
	}

	/**
	 * End all holds.
	 * @return completed when the commands for that are on their way
	 */
	private CompletableFuture<@Nullable Void> releaseHeld() {
		return inEvents(this.renewer.holds().stream(), (hold) -> hold.queue::execute, this::endHold);
	}

	/**
	 * End a hold. In an event, as a release by its user must not come between the loss,
	 * of which that is told, and the command that keeps others out.
	 */
	private void endHold(Hold hold) {
		List<String> token = List.of(hold.token);
		this.releases.beginEnding(token);
		try {
			long now = this.context.scheduler.nanoTime();
			if (hold.isForCode()) {
				leaveHold(hold, now + hold.lastsNanos(now), now);
			}
			else {
				releaseHold(hold, Math.max(hold.minHoldLeft(now), hold.lossMargin()));
			}
		}
		finally {
			this.releases.finishEnding(token);
		}
	}

	private void releaseHold(Hold hold, long kept) {
		if (!this.renewer.lose(hold, "this instance shut down before it was released")) {
			// Just released by its user, which gets the store's answer to that.
			return;
		}
		hold.endByShutDown();
		if (kept > 0) {
			this.releases.retain(hold, kept, new CompletableFuture<>());
		}
		else {
			this.releases.release(hold);
		}
	}

	/**
	 * End a hold that code runs under, but leave its end in the store to its lease time.
	 * It is not released with the code either: if the loss has cancelled a future or a
	 * chain, work that it began may go on.
	 */
	private void leaveHold(Hold hold, long until, long now) {
		if (this.renewer.lose(hold, "this instance shut down before the code under it had ended",
				"Others are kept out for " + TimeUnit.NANOSECONDS.toMillis(until - now) + " ms from now")) {
			hold.endByShutDown();
			this.releases.leave(hold, until);
		}
	}

	private CompletableFuture<@Nullable Void> stopAfterReleases(int resumptionsBefore) {
		// Leases granted since then.
		return releaseHeld().thenCompose((done) -> CompletableFuture.allOf(this.releases.awaitAnswers(), leaveFleet()))
			// Not on the driver's thread, which the store may have to wait for.
			.thenRunAsync(() -> stopStore(resumptionsBefore), this.context::execute);
	}

	/** Stop the store, unless it is to go on listening. */
	private void stopStore(int resumptionsBefore) {
		synchronized (this.storeLock) {
			if (isCurrent(resumptionsBefore)) {
				this.context.store.stop();
			}
		}
	}

	/** Start the instance, or grant again if a shut-down has begun. */
	void resume() {
		synchronized (this.storeLock) {
			if (!this.context.isClosed()) {
				startInstance();
				return;
			}
			endUnfinishedShutdown();
			this.context.renewIdentity(this.queues);
			this.resumptions++;
			// First, as later requests wait for that.
			joinFleet();
			this.context.setClosed(false);
		}
	}

	/**
	 * End the leases that the shut-down has not ended yet. Copies of this process may go
	 * on as this one does, so no token may be used any more.
	 */
	private void endUnfinishedShutdown() {
		releaseHeld();
		if (this.context.isStarted()) {
			String before = this.context.instanceId();
			this.queues.all().forEach((queue) -> queue.execute(() -> queue.endWaits(before)));
		}
		leaveFleet();
		this.context.store.stop();
	}

}
