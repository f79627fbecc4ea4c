package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

import io.holdfast.LeaseLostEvent;
import io.holdfast.ReleaseResult;
import io.holdfast.async.BoundedExecutor;
import io.holdfast.async.CallResult;
import io.holdfast.async.PromptAction;
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
 * Renews the holds of this instance in batches, each at about a third of its lease time.
 * Detects losses, and reports them to the log, the listener, the observers, the users'
 * actions and the queue. One of the seven concepts of the engine.
 *
 * <p>
 * The renewer owns the register of all holds, and a single timer for the next renewal or
 * end. Without holds there is no timer. Queues add and remove holds. Thread-safe.
 */
final class LeaseRenewer {

	/**
	 * Maximum number of holds per command, so that a script runs for less than a
	 * millisecond.
	 */
	private static final int BATCH = 430;

	/** Time within which due holds are renewed together, in nanoseconds. */
	private static final long WINDOW_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	/** Maximum pause between two scans of all holds, in milliseconds. */
	private static final int MAX_PAUSE_MILLIS = 20;

	/** Maximum number of threads for users' callbacks on losses. */
	private static final int LOSS_THREADS = 64;

	/** Reason of the loss by a forced release, for messages. */
	static final String FORCED = "it was released by force";

	private static final String OTHER_OWNER = "the store says that it has another owner, or none";

	private static final Log logger = LogFactory.getLog(LeaseRenewer.class);

	private final EngineContext context;

	/** Runs users' actions on losses first, and listeners after them. */
	private final BoundedExecutor lossActions;

	/** Runs actions on losses that never block. */
	private final BoundedExecutor promptActions;

	private final AtomicBoolean warnedOfLossActions = new AtomicBoolean();

	private volatile Consumer<LeaseLostEvent> listener = (event) -> {
	};

	private final Map<String, Hold> holds = new ConcurrentHashMap<>();

	/** Completed when the last hold ends. {@code null} unless a shutdown waits for it. */
	private volatile @Nullable CompletableFuture<@Nullable Void> drained;

	private @Nullable Future<?> timer;

	/** Time of the next scan of all holds. Without a timer, a time that never comes. */
	private volatile long wakeAt;

	/** Time of the last scan of all holds. Guarded by this. */
	private long lookedAt;

	/** Create the renewer of an instance. */
	LeaseRenewer(EngineContext context) {
		this.context = context;
		this.lossActions = new BoundedExecutor(context.callbacks, LOSS_THREADS);
		this.promptActions = new BoundedExecutor(context.callbacks, 1);
		this.lookedAt = context.scheduler.nanoTime();
		this.wakeAt = this.lookedAt + ResolvedRequest.FOREVER;
	}

	/** Set the listener of losses. It is called on a thread that may block. */
	void setListener(Consumer<LeaseLostEvent> listener) {
		this.listener = listener;
	}

	/**
	 * Start renewing a hold. After a local hand-over, it replaces the previous hold of
	 * its token.
	 */
	void startRenewing(Hold hold) {
		this.holds.put(hold.token, hold);
		wakeBy(hold.renewAtOrBeforeEnd());
	}

	/** Stop renewing a hold. */
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
	 * @param why the reason, for messages
	 * @return whether the hold was ended by this call
	 */
	boolean lose(Hold hold, String why) {
		return lose(hold, why, "Another owner may hold it now");
	}

	/**
	 * End a hold by loss, unless it has ended.
	 * @param hold the hold
	 * @param why the reason, for messages
	 * @param consequence the consequence for other owners, for messages
	 * @return whether the hold was ended by this call
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
	 * End a hold whose validity is over, unless it has ended. During the loss margin its
	 * token still counts as in use, and only the user's release frees the key.
	 * @param hold the hold
	 * @param why the reason, for messages
	 * @param now the current time
	 */
	void expire(Hold hold, String why, long now) {
		long marginLeft = hold.grantedUntil() - now;
		if (marginLeft <= 0) {
			lose(hold, why);
			return;
		}
		List<Runnable> actions = hold.lose(why);
		if (actions != null) {
			this.context.scheduler.schedule(() -> stopRenewing(hold), marginLeft);
			reportLost(hold, why, "Unless it is released, others have to wait for "
					+ TimeUnit.NANOSECONDS.toMillis(marginLeft) + " ms more", actions);
		}
	}

	/** Return the hold of a token, or {@code null} if there is none. */
	@Nullable Hold find(String token) {
		return this.holds.get(token);
	}

	/**
	 * Wait until nothing is held. Does not block.
	 * @return a future that is completed when the last hold ends
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
	 * Set the timer for a hold that is new or has changed. Limits the rate of scans of
	 * all holds.
	 */
	void wakeBy(long due) {
		if (this.wakeAt - due <= 0) {
			return;
		}
		synchronized (this) {
			// About five times the duration of a scan.
			long pause = TimeUnit.MILLISECONDS.toNanos(Math.min(this.holds.size() / 1000, MAX_PAUSE_MILLIS));
			long wakeTime = ResourceQueue.later(due, this.lookedAt + pause);
			if (this.wakeAt - wakeTime <= 0) {
				return;
			}
			Future<?> next = this.context.scheduler.schedule(this::wake, wakeTime - this.context.scheduler.nanoTime());
			if (this.timer != null) {
				this.timer.cancel(false);
			}
			this.timer = next;
			this.wakeAt = wakeTime;
		}
	}

	private void wake() {
		long now = this.context.scheduler.nanoTime();
		synchronized (this) {
			this.lookedAt = now;
			this.wakeAt = now + ResolvedRequest.FOREVER;
		}
		try {
			wakeBy(renewDue(now));
		}
		catch (RuntimeException | Error ex) {
			// An error must not stop all renewals.
			wakeBy(now + this.context.retryDelay());
			logger.error("The renewal of leases failed, and is tried again", ex);
		}
	}

	/**
	 * Renew all holds that are due now or soon. Scans all holds: keeping them sorted
	 * would cost more at each acquisition and release.
	 * @return the time at which the next hold is due; without a hold, a time that never
	 * comes
	 */
	private long renewDue(long now) {
		List<Hold> due = new ArrayList<>();
		long next = now + ResolvedRequest.FOREVER;
		for (Hold hold : this.holds.values()) {
			// A cheap lower bound, which suffices for most holds.
			long dueTime = hold.renewAtOrBeforeEnd();
			if (dueTime - now > WINDOW_NANOS) {
				next = ResourceQueue.earlier(next, dueTime);
			}
			else if (!hold.isHeld(now)) {
				if (!hold.hasEnded()) {
					expire(hold, hold.whyExpired(), now);
				}
			}
			else if (hold.renewAt - now <= window(hold) && hold.renewalMillis(now) > 0) {
				due.add(hold);
			}
			else {
				next = ResourceQueue.earlier(next, hold.dueAt(now));
			}
		}
		boolean unanswered = false;
		for (Hold hold : due) {
			if (hold.onRenewalSent()) {
				unanswered = true;
				this.context.observers.renewed(hold.resource(), RenewalOutcome.FAILED);
			}
			// The time at which the renewal is repeated if it is not answered.
			hold.renewAt = now + patience(hold, now);
			next = ResourceQueue.earlier(next, hold.renewAtOrBeforeEnd());
		}
		if (unanswered) {
			this.context.observers.failed(Command.RENEW);
		}
		batches(due).forEach((batch) -> renew(batch, now));
		return next;
	}

	/** Renew holds together or, if the store cannot do so yet, one by one. */
	private void renew(List<Hold> batch, long now) {
		renew(batch, (hold) -> hold.renewalMillis(now), now, false).whenComplete((done, error) -> {
			if (error != null && batch.size() > 1 && EngineExceptions.isWorthWaiting(error)) {
				// The leases may be on two nodes, while their slot moves.
				batch.forEach((hold) -> renew(List.of(hold), now));
			}
			else if (error != null && !(CallResult.cause(error) instanceof CancellationException)) {
				batch.forEach((hold) -> onRenewalFailed(hold, error));
			}
		});
	}

	/** Return the time by which the renewal of a hold may be early, in nanoseconds. */
	private static long window(Hold hold) {
		return Math.min(WINDOW_NANOS, TimeUnit.MILLISECONDS.toNanos(hold.request.leaseMillis()) / 10);
	}

	/**
	 * Return the time after which an unanswered renewal is repeated, in nanoseconds: soon
	 * enough to keep the lease, but not too often.
	 */
	private long patience(Hold hold, long now) {
		long soon = Math.max((hold.validUntil() - now) / 2, this.context.settings.retryInterval().toNanos());
		return Math.min(TimeUnit.MILLISECONDS.toNanos(hold.periodMillis(now)) / 6, soon);
	}

	/** Split holds into batches, each for one command. */
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
	 * Extend holds on behalf of the user. Ended holds are left out.
	 * @param holds the holds
	 * @param millis the lease time, in milliseconds
	 * @return a future that is completed when all commands are answered, and fails if one
	 * fails
	 */
	CompletableFuture<Void> renewNow(List<Hold> holds, long millis) {
		long sentAt = this.context.scheduler.nanoTime();
		List<Hold> held = holds.stream().filter((hold) -> hold.beginRenewal(millis, sentAt)).toList();
		return CompletableFuture.allOf(batches(held).stream()
			.map((batch) -> renew(batch, (hold) -> millis, sentAt, true))
			.toArray(CompletableFuture[]::new));
	}

	/**
	 * Renew holds by one command, and process its answer. Without an answer, the command
	 * is given up: for a user after the command timeout, otherwise at the end of
	 * validity. After an outage, it would lengthen leases that are lost.
	 */
	private CompletableFuture<Void> renew(List<Hold> batch, ToLongFunction<Hold> millis, long sentAt, boolean forUser) {
		List<Renewal> renewals = batch.stream().map((hold) -> hold.renewalCommand(millis.applyAsLong(hold))).toList();
		for (int i = 0; i < batch.size(); i++) {
			batch.get(i).beginRenewal(renewals.get(i).leaseMillis(), sentAt);
		}
		Supplier<CompletableFuture<List<Boolean>>> command = () -> this.context.store.renew(renewals);
		CompletableFuture<List<Boolean>> answer = forUser ? this.context.sendInTime(Command.RENEW, command)
				: this.context.send(Command.RENEW, command);
		if (!forUser && !answer.isDone()) {
			long end = batch.stream().map(Hold::validUntil).reduce(sentAt, ResourceQueue::later);
			Future<?> timer = this.context.scheduler.schedule(() -> answer.cancel(true), end - sentAt);
			answer.whenComplete((owned, error) -> timer.cancel(false));
		}
		return answer.thenAccept((owned) -> {
			for (int i = 0; i < batch.size(); i++) {
				onRenewed(batch.get(i), owned.get(i), sentAt, renewals.get(i).leaseMillis());
			}
		});
	}

	/** Process the answer to a renewal. */
	void onRenewed(Hold renewed, boolean owned, long sentAt, long millis) {
		Hold hold = current(renewed);
		// A release or an earlier answer may have ended the hold.
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
		// A quarter of the jitter: the first renewals have already spread the holds.
		long twelfth = TimeUnit.MILLISECONDS.toNanos(Math.min(hold.periodMillis(now), millis)) / 12;
		hold.onRenewed(millis, sentAt, sentAt + 3 * twelfth + this.context.shortenRandomly(twelfth));
		if (hold.extend(sentAt + Hold.validity(millis), now)) {
			this.context.observers.renewed(hold.resource(), RenewalOutcome.RENEWED);
		}
		else if (!hold.hasEnded()) {
			this.context.observers.renewed(hold.resource(), RenewalOutcome.LOST);
			expire(hold, "its renewal was answered too late", now);
		}
	}

	/**
	 * End the hold of a token that the store does not have any more.
	 * @param token the token
	 * @param why the reason, for messages
	 */
	void onTokenLost(String token, String why) {
		onTokenLost(token, Long.MAX_VALUE, why);
	}

	/**
	 * End the hold of a token if its grant is older than a fence.
	 * @param token the token
	 * @param nextFence the fence below which grants have ended in the store
	 * @param why the reason, for messages
	 */
	void onTokenLost(String token, long nextFence, String why) {
		Hold hold = this.holds.get(token);
		if (hold == null || hold.fence >= nextFence) {
			return;
		}
		lose(hold, why);
		hold.queue.execute(() -> {
			// The token may have been handed over locally just before.
			Hold next = this.holds.get(token);
			if (next != null && next.fence < nextFence) {
				lose(next, why);
			}
		});
	}

	/**
	 * End the holds of tokens of one resource, and then send the command that ends the
	 * tokens in the store. No local hand-over can happen in between.
	 * @param tokens the tokens, of any instance
	 * @param why the reason, for messages
	 * @param command sends the command
	 */
	void loseBefore(List<String> tokens, String why, Runnable command) {
		Hold firstHold = tokens.stream().map(this.holds::get).filter(Objects::nonNull).findFirst().orElse(null);
		if (firstHold == null) {
			command.run();
			return;
		}
		firstHold.queue.execute(() -> {
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

	/** Return the hold that has the token now, after local hand-overs. */
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
			hold.renewAt = now + soon;
			wakeBy(hold.renewAtOrBeforeEnd());
		}
	}

	// Losses

	/**
	 * Report the loss of a hold.
	 * @param hold the hold
	 * @param why the reason, for messages
	 * @param consequence the consequence for other owners, for messages
	 * @param actions the users' actions
	 */
	private void reportLost(Hold hold, String why, String consequence, List<Runnable> actions) {
		long now = this.context.scheduler.nanoTime();
		String message = "The lease of " + hold.description() + hold.purpose() + " was lost after "
				+ hold.heldFor(now).toMillis() + " ms: " + why + ". " + consequence;
		HoldEnd end = hold.hasRunOut(now) ? HoldEnd.EXPIRED : HoldEnd.LOST;
		try {
			if (end == HoldEnd.EXPIRED) {
				// Perhaps intended: only a late release causes a warning.
				logger.debug(message);
			}
			else {
				logger.warn(message);
				publish(hold, why);
			}
		}
		finally {
			// Even if a log appender throws an exception.
			actions.forEach(this::callOnLoss);
			hold.queue.execute(() -> {
				hold.tellEnded(end);
				hold.queue.onHoldLost(hold);
			});
		}
	}

	/**
	 * Return the result of a release from the store's answer. If the store did not find
	 * the token, the lease was lost unnoticed. Not so if the lease may have expired
	 * before the command ran, or if a copy of the command may have found the token.
	 */
	ReleaseResult judgeRelease(Hold hold, ReleaseReply reply) {
		long now = this.context.scheduler.nanoTime();
		if (!reply.foundNothing() || !hold.used || hold.grantedUntil() - now <= 0) {
			return ReleaseResult.RELEASED;
		}
		String why = OTHER_OWNER;
		List<Runnable> actions = hold.markLost(why);
		logger.warn("The lease of " + hold.description() + hold.purpose() + " was lost before it was released, after "
				+ hold.heldFor(now).toMillis() + " ms: " + why + ". Another owner may have held it before");
		publish(hold, why);
		actions.forEach(this::callOnLoss);
		return ReleaseResult.LOST;
	}

	/** Report a hold without renewal that has expired before its release. */
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
		this.lossActions.execute(() -> EngineContext.run(() -> this.listener.accept(event)));
		warnOfLossActions();
	}

	/** Run an action of a user on the loss of a lease. */
	void callOnLoss(Runnable action) {
		if (action instanceof PromptAction) {
			this.promptActions.execute(() -> EngineContext.run(action));
			return;
		}
		this.lossActions.executeFirst(() -> EngineContext.run(action));
		warnOfLossActions();
	}

	private void warnOfLossActions() {
		if (this.lossActions.waiting() >= LOSS_THREADS && this.warnedOfLossActions.compareAndSet(false, true)) {
			logger.warn("The onLost actions and LeaseLostEvent listeners are too slow: they keep " + LOSS_THREADS
					+ " threads, and further ones wait; the leases are not affected");
		}
	}

}
