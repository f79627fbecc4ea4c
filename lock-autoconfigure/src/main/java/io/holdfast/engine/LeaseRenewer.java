package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

import io.holdfast.LeaseLostEvent;
import io.holdfast.ReleaseResult;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.EngineObserver.HoldEnd;
import io.holdfast.engine.EngineObserver.RenewalOutcome;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.Resource.Kind;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Renews the holds of this instance, in batches, at about a third of each lease. Notices
 * losses, and reports them to the log, the listener, the observers, the actions of users,
 * and the queue. One of the seven concepts of the engine.
 *
 * <p>
 * It owns the register of all holds of the instance, and one timer in all, for the
 * earliest thing to do; none while nothing is held. Queues give holds to it and take them
 * back. Thread-safe.
 */
final class LeaseRenewer {

	/** Few enough for a script that keeps others waiting for less than a millisecond. */
	private static final int BATCH = 430;

	/** Holds that are due within this time are renewed together. */
	private static final long WINDOW_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	/** The longest pause between two looks at all holds, in milliseconds. */
	private static final int MAX_PAUSE_MILLIS = 20;

	/** Longer than any lease. */
	private static final long NEVER = Long.MAX_VALUE / 2;

	private static final String OTHER_OWNER = "the store says that it has another owner, or none";

	private static final Log logger = LogFactory.getLog(LeaseRenewer.class);

	private final EngineContext context;

	private volatile Consumer<LeaseLostEvent> listener = (event) -> {
	};

	private final Map<String, Hold> holds = new ConcurrentHashMap<>();

	/** A shut-down waits for the last hold to end. */
	private volatile @Nullable CompletableFuture<@Nullable Void> drained;

	private @Nullable Future<?> timer;

	private volatile long wakeAt;

	/** When all holds were looked at last. */
	private volatile long lookedAt;

	private volatile boolean armed;

	/** Create the renewer of an instance. */
	LeaseRenewer(EngineContext context) {
		this.context = context;
		this.lookedAt = context.scheduler.nanoTime();
	}

	/** Set the listener to losses, which is called on a thread that may block. */
	void setListener(Consumer<LeaseLostEvent> listener) {
		this.listener = listener;
	}

	/** Renew a hold from now on. */
	void startRenewing(Hold hold) {
		this.holds.put(hold.token, hold);
		wakeBy(hold.renewAt());
	}

	/** Note that leases of a hold were opened or closed. */
	void onLeasesChanged(Hold hold) {
		wakeBy(hold.dueAt(this.context.scheduler.nanoTime()));
	}

	/** Renew a hold in place of the one whose token it has taken over. */
	void replace(Hold before, Hold next) {
		this.holds.put(before.token, next);
		wakeBy(next.renewAtOrBeforeEnd());
	}

	/** Renew a hold no more. */
	void stopRenewing(Hold hold) {
		this.holds.remove(hold.token, hold);
		CompletableFuture<@Nullable Void> drained = this.drained;
		if (drained != null && this.holds.isEmpty()) {
			drained.complete(null);
		}
	}

	/**
	 * End a hold by loss, unless it has ended.
	 * @param hold the hold
	 * @param why the reason, in words
	 * @return whether it had not ended
	 */
	boolean lose(Hold hold, String why) {
		return lose(hold, why, "Another owner may hold it now");
	}

	/**
	 * End a hold by loss, unless it has ended.
	 * @param hold the hold
	 * @param why the reason, in words
	 * @param consequence the meaning for others, in words
	 * @return whether it had not ended
	 */
	boolean lose(Hold hold, String why, String consequence) {
		List<Runnable> actions = hold.lose(why);
		if (actions == null) {
			return false;
		}
		stopRenewing(hold);
		reportLost(hold, why, consequence, actions);
		return true;
	}

	/**
	 * End a hold whose validity is over, unless it has ended. Until its loss margin is
	 * over as well, its token counts as used, and only its user's release frees the key.
	 * @param hold the hold
	 * @param why the reason, in words
	 * @param now the time
	 */
	void expire(Hold hold, String why, long now) {
		long kept = hold.grantedUntil() - now;
		if (kept <= 0) {
			lose(hold, why);
			return;
		}
		List<Runnable> actions = hold.lose(why);
		if (actions != null) {
			this.context.scheduler.schedule(() -> stopRenewing(hold), kept);
			reportLost(hold, why, "Unless it is released, others have to wait for "
					+ TimeUnit.NANOSECONDS.toMillis(kept) + " ms more", actions);
		}
	}

	/** Return the hold of a token, or {@code null} if there is none. */
	@Nullable Hold find(String token) {
		return this.holds.get(token);
	}

	/**
	 * Wait until nothing is held any more. Does not block.
	 * @return completed by the release or loss of the last hold
	 */
	CompletableFuture<@Nullable Void> awaitDrained() {
		CompletableFuture<@Nullable Void> last;
		synchronized (this) {
			last = this.drained;
			if (last == null || last.isDone()) {
				last = new CompletableFuture<>();
				this.drained = last;
			}
		}
		if (this.holds.isEmpty()) {
			last.complete(null);
		}
		return last;
	}

	/** Return the holds that have not ended. */
	List<Hold> holds() {
		return this.holds.values().stream().filter((hold) -> !hold.hasEnded()).toList();
	}

	/**
	 * Wake up when a hold that is new, or has changed, is due; but not so soon that the
	 * looks at all holds would take much of the thread's time.
	 */
	private void wakeBy(long due) {
		if (this.armed && this.wakeAt - due <= 0) {
			return;
		}
		synchronized (this) {
			// Some five times as long as a look takes.
			long pause = TimeUnit.MILLISECONDS.toNanos(Math.min(this.holds.size() / 1000, MAX_PAUSE_MILLIS));
			long at = ResourceQueue.later(due, this.lookedAt + pause);
			if (this.armed && this.wakeAt - at <= 0) {
				return;
			}
			Future<?> next = this.context.scheduler.schedule(this::wake, at - this.context.scheduler.nanoTime());
			if (this.timer != null) {
				this.timer.cancel(false);
			}
			this.timer = next;
			this.wakeAt = at;
			this.armed = true;
		}
	}

	private void wake() {
		synchronized (this) {
			this.armed = false;
		}
		long now = this.context.scheduler.nanoTime();
		this.lookedAt = now;
		try {
			long next = renewDue(now);
			if (next - now < NEVER) {
				wakeBy(next);
			}
		}
		catch (RuntimeException | Error ex) {
			// One error must not end all renewals.
			wakeBy(now + this.context.retryDelay());
			logger.error("The renewal of leases failed, and is tried again", ex);
		}
	}

	/**
	 * Renew the holds that are due, with the ones that soon will be. Looks at all holds:
	 * to keep them sorted would cost more at each acquire and release.
	 * @return when the next one is due
	 */
	private long renewDue(long now) {
		List<Hold> due = new ArrayList<>();
		long next = now + NEVER;
		for (Hold hold : this.holds.values()) {
			// Sooner than it is due if it is not renewed; mostly that is enough to know.
			long at = hold.renewAtOrBeforeEnd();
			if (at - now > WINDOW_NANOS) {
				next = ResourceQueue.earlier(next, at);
			}
			else if (!hold.isHeld(now)) {
				if (!hold.hasEnded()) {
					expire(hold, hold.whyExpired(), now);
				}
			}
			else if (isDue(hold, now)) {
				due.add(hold);
			}
			else {
				next = ResourceQueue.earlier(next, hold.dueAt(now));
			}
		}
		boolean silent = false;
		for (Hold hold : due) {
			if (hold.onRenewalSent()) {
				silent = true;
				this.context.observers.renewed(hold.resource(), RenewalOutcome.FAILED);
			}
			// It is sent again then if it is not answered.
			hold.renewAt(now + patience(hold, now));
			next = ResourceQueue.earlier(next, hold.renewAtOrBeforeEnd());
		}
		if (silent) {
			this.context.observers.failed(Command.RENEW);
		}
		batches(due)
			.forEach((batch) -> renew(batch, (hold) -> hold.renewalMillis(now), now).whenComplete((done, error) -> {
				if (error != null) {
					batch.forEach((hold) -> onRenewalFailed(hold, error));
				}
			}));
		return next;
	}

	private static boolean isDue(Hold hold, long now) {
		long left = hold.renewAt() - now;
		return left <= WINDOW_NANOS && hold.renewalMillis(now) > 0
				&& left <= TimeUnit.MILLISECONDS.toNanos(hold.request.leaseMillis()) / 10;
	}

	/**
	 * Return when to send a renewal again that is not answered: soon enough to keep the
	 * lease, but not many times.
	 */
	private long patience(Hold hold, long now) {
		long soon = Math.max((hold.validUntil() - now) / 2, this.context.settings.retryInterval().toNanos());
		return Math.min(TimeUnit.MILLISECONDS.toNanos(hold.periodMillis(now)) / 6, soon);
	}

	/** Return holds in lists that one command each may renew. */
	private List<List<Hold>> batches(List<Hold> holds) {
		Map<Integer, List<Hold>> parts = holds.stream()
			.collect(Collectors.groupingBy((hold) -> this.context.store.partOf(hold.resource())));
		List<List<Hold>> batches = new ArrayList<>();
		for (List<Hold> part : parts.values()) {
			for (int from = 0; from < part.size(); from += BATCH) {
				batches.add(part.subList(from, Math.min(from + BATCH, part.size())));
			}
		}
		return batches;
	}

	/**
	 * Renew by hand those of some holds that are held.
	 * @param holds the holds
	 * @param millis for how long
	 * @return completed when all was answered; fails if the store did
	 */
	CompletableFuture<Void> renewNow(List<Hold> holds, long millis) {
		long sentAt = this.context.scheduler.nanoTime();
		List<Hold> held = holds.stream().filter((hold) -> hold.beginExtension(millis, sentAt)).toList();
		return CompletableFuture.allOf(batches(held).stream()
			.map((batch) -> renew(batch, (hold) -> millis, sentAt)
				.thenRun(() -> batch.forEach((hold) -> hold.endExtension(millis))))
			.toArray(CompletableFuture[]::new));
	}

	/** Send one command that renews some holds, and note its answer. */
	private CompletableFuture<Void> renew(List<Hold> batch, ToLongFunction<Hold> millis, long sentAt) {
		List<Renewal> renewals = batch.stream().map((hold) -> hold.renewalCommand(millis.applyAsLong(hold))).toList();
		return this.context.send(Command.RENEW, () -> this.context.store.renew(renewals)).thenAccept((owned) -> {
			for (int i = 0; i < batch.size(); i++) {
				onRenewed(batch.get(i), owned.get(i), sentAt, renewals.get(i).leaseMillis());
			}
		});
	}

	/** Note the answer to a renewal. */
	void onRenewed(Hold renewed, boolean owned, long sentAt, long millis) {
		Hold hold = current(renewed);
		// Its release may have been faster, or an earlier answer.
		boolean ended = hold.hasEnded();
		if (!owned) {
			if (!ended) {
				this.context.observers.renewed(hold.resource(), RenewalOutcome.LOST);
			}
			onTokenLost(hold.token, OTHER_OWNER);
			return;
		}
		if (ended) {
			return;
		}
		hold.onRenewalAnswered();
		long now = this.context.scheduler.nanoTime();
		// A quarter of the jitter: they are spread already by their first renewals.
		long part = TimeUnit.MILLISECONDS.toNanos(Math.min(hold.periodMillis(now), millis)) / 12;
		hold.onRenewed(millis, sentAt, sentAt + 3 * part + this.context.shortenRandomly(part));
		if (hold.extend(sentAt + Hold.validity(millis), now)) {
			this.context.observers.renewed(hold.resource(), RenewalOutcome.RENEWED);
		}
		else if (!hold.hasEnded()) {
			this.context.observers.renewed(hold.resource(), RenewalOutcome.LOST);
			expire(hold, "its renewal was answered too late", now);
		}
	}

	/**
	 * Lose the hold of a token that has nothing in the store any more.
	 * @param token the token
	 * @param why in words
	 */
	void onTokenLost(String token, String why) {
		onTokenLost(token, Long.MAX_VALUE, why);
	}

	/**
	 * Lose the hold of a token that has nothing in the store any more of its grants up to
	 * some time.
	 * @param token the token
	 * @param nextFence above the fences of these grants
	 * @param why in words
	 */
	void onTokenLost(String token, long nextFence, String why) {
		Hold hold = this.holds.get(token);
		if (hold == null || hold.fence >= nextFence) {
			return;
		}
		lose(hold, why);
		hold.queue.execute(() -> {
			// It may have been handed over just before.
			Hold next = this.holds.get(token);
			if (next != null && next.fence < nextFence) {
				lose(next, why);
			}
		});
	}

	/**
	 * Lose the holds of tokens of one resource which the store is about to take away, and
	 * send the command for that. Nothing is handed over here in between.
	 * @param tokens the tokens, of any instance
	 * @param why in words
	 * @param command sends the command
	 */
	void loseBefore(List<String> tokens, String why, Runnable command) {
		Hold any = tokens.stream().map(this.holds::get).filter(Objects::nonNull).findFirst().orElse(null);
		if (any == null) {
			command.run();
			return;
		}
		any.queue.execute(() -> {
			try {
				for (String token : tokens) {
					Hold hold = this.holds.get(token);
					if (hold != null) {
						lose(hold, why);
					}
				}
			}
			finally {
				command.run();
			}
		});
	}

	/** Return the hold that goes on with its token by now. */
	private Hold current(Hold hold) {
		return hold.hasEnded() ? this.holds.getOrDefault(hold.token, hold) : hold;
	}

	private void onRenewalFailed(Hold renewed, Throwable error) {
		Hold hold = current(renewed);
		long now = this.context.scheduler.nanoTime();
		if (hold.isHeld(now)) {
			hold.onRenewalFailed(EngineExceptions.text(error));
			this.context.observers.renewed(hold.resource(), RenewalOutcome.FAILED);
			logger.debug("The renewal of " + hold.description() + " failed, and is tried again", error);
			long soon = Math.min(this.context.retryDelay(),
					TimeUnit.MILLISECONDS.toNanos(hold.request.leaseMillis()) / 6);
			hold.renewAt(now + soon);
			wakeBy(hold.renewAtOrBeforeEnd());
		}
	}

	// Losses

	/**
	 * Report a hold that was just lost.
	 * @param hold the hold
	 * @param why the reason, in words
	 * @param consequence the meaning for others, in words
	 * @param actions the actions of users
	 */
	private void reportLost(Hold hold, String why, String consequence, List<Runnable> actions) {
		long now = this.context.scheduler.nanoTime();
		String message = "The lease of " + hold.description() + hold.purpose() + " was lost after "
				+ hold.heldFor(now).toMillis() + " ms: " + why + ". " + consequence;
		HoldEnd end = hold.hasRunOut(now) ? HoldEnd.EXPIRED : HoldEnd.LOST;
		try {
			if (end == HoldEnd.EXPIRED) {
				// Perhaps as it was meant to: only its late release is warned of.
				logger.debug(message);
			}
			else {
				logger.warn(message);
				publish(hold, why);
			}
		}
		finally {
			// Also if an appender throws.
			actions.forEach(this.context::callOnLoss);
			hold.queue.execute(() -> {
				hold.tellEnded(end);
				hold.queue.onHoldLost(hold);
			});
		}
	}

	/**
	 * Return the result of a release by the store's answer. A token that held nothing is
	 * a loss which was not noticed before; unless its time may have been over when the
	 * command ran, or the answer may be that to a copy of the command.
	 */
	ReleaseResult judgeRelease(Hold hold, ReleaseReply reply) {
		long now = this.context.scheduler.nanoTime();
		if (!reply.foundNothing() || !hold.isUsed() || hold.grantedUntil() - now <= 0) {
			return ReleaseResult.RELEASED;
		}
		String why = OTHER_OWNER;
		List<Runnable> actions = hold.markLost(why);
		logger.warn("The lease of " + hold.description() + hold.purpose() + " was lost before it was released, after "
				+ hold.heldFor(now).toMillis() + " ms: " + why + ". Another owner may have held it before");
		publish(hold, why);
		actions.forEach(this.context::callOnLoss);
		return ReleaseResult.LOST;
	}

	/** Report a hold that nothing renews, and whose time was over before its release. */
	void reportRunOut(Hold hold) {
		String why = "the work took longer than the lease time of " + hold.request.leaseMillis() + " ms"
				+ ((hold.lossMargin() > 0)
						? ", less its loss margin of " + TimeUnit.NANOSECONDS.toMillis(hold.lossMargin()) + " ms" : "");
		logger.warn("The lease of " + hold.description() + hold.purpose() + " was over before it was released, after "
				+ TimeUnit.NANOSECONDS.toMillis(this.context.scheduler.nanoTime() - hold.grantedAt()) + " ms: " + why);
		publish(hold, why);
	}

	/** Publish a loss to the observers and the listener, once. */
	private void publish(Hold hold, String why) {
		if (!hold.markLossReported()) {
			return;
		}
		this.context.observers.lost(hold.resource(), hold.request.name());
		boolean semaphore = hold.resource().kind() == Kind.SEMAPHORE;
		LeaseLostEvent event = new LeaseLostEvent(hold.resource().key(), hold.request.name(),
				semaphore ? hold.permits() : 0, hold.heldFor(this.context.scheduler.nanoTime()), why);
		this.context.callListener(() -> this.listener.accept(event));
	}

}
