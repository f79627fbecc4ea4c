package io.holdfast.engine.queue;

import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import io.holdfast.engine.context.EngineContext;
import io.holdfast.engine.lease.Hold;
import io.holdfast.engine.observe.EngineObserver.Command;
import io.holdfast.engine.observe.EngineObserver.HandOver;
import io.holdfast.engine.queue.StoreAnswers.SentCommand;
import io.holdfast.engine.request.EngineExceptions;
import io.holdfast.engine.request.ResolvedRequest;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Rejected;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.StoreCommandException;
import org.jspecify.annotations.Nullable;

/**
 * The presence of one waiter in the store: a token, and the commands that name it. One of
 * the seven concepts of the engine.
 *
 * <p>
 * It owns the token, its {@link StoreAnswers}, and a timer: for the time at which it asks
 * again, and for the deadline of a waiter that has no timer of its own. It is made when
 * its waiter begins to contend, and waiters that ask for the same may exchange theirs.
 * Its waiter and the coordinator call it, and the notifications that name its token; all
 * in events of the coordinator.
 */
public final class Contender {

	private final EngineContext context;

	public final ContenderHost coordinator;

	public final String token;

	/** The waiter that it contends for by now. */
	private ContendingWaiter waiter;

	/** What it asks the store for. */
	final AcquireCommand command;

	/** After how long it asks again at the latest, in nanoseconds. */
	private final long halfClaim;

	private final StoreAnswers answers;

	/** When it is to ask again. */
	private long askAt;

	/** Stays when the waiter changes: to set a timer costs more than that. */
	private @Nullable Future<?> timer;

	/** Create a contender that has sent nothing yet. */
	Contender(ContenderHost coordinator, String token, ContendingWaiter waiter) {
		this.context = coordinator.context();
		this.coordinator = coordinator;
		this.token = token;
		this.waiter = waiter;
		ResolvedRequest request = waiter.request();
		this.command = new AcquireCommand(token, request.permits(), request.limit(), request.fair(),
				request.leaseMillis(), request.claimMillis());
		this.halfClaim = TimeUnit.MILLISECONDS.toNanos(request.claimMillis()) / 2;
		this.answers = new StoreAnswers(this.context);
	}

	/**
	 * Stand for another waiter, which asks for the same, from now on.
	 */
	void standFor(ContendingWaiter other) {
		this.waiter = other;
		if (this.timer != null && isOpen() && other.contenderDueAt(this.askAt) != this.askAt) {
			// Its deadline comes first.
			arm(this.context.scheduler.nanoTime());
		}
	}

	private void askBy(long at, long now) {
		this.askAt = at;
		arm(now);
	}

	private void arm(long now) {
		disarm();
		this.timer = this.context.scheduler.schedule(() -> this.coordinator.execute(this::onTimer),
				this.waiter.contenderDueAt(this.askAt) - now);
	}

	private void disarm() {
		if (this.timer != null) {
			this.timer.cancel(false);
			this.timer = null;
		}
	}

	private void onTimer() {
		long now = this.context.scheduler.nanoTime();
		if (!isOpen()) {
			return;
		}
		if (now - this.waiter.deadline() >= 0) {
			this.waiter.onTimedOut();
			if (isOpen()) {
				// It contends for another waiter by now, which waits on.
				arm(now);
			}
		}
		else if (now - this.askAt < 0) {
			arm(now);
		}
		else {
			Throwable outage = lastingOutage();
			if (outage != null) {
				this.waiter.onFailure(outage);
			}
			else if (this.answers.isAnyOpen() && !this.context.isReached()) {
				// The store keeps the last command for its next connection.
				askLater(now);
			}
			else {
				sendAcquire();
			}
		}
	}

	/**
	 * Return what keeps the store from answering for too long: its commands wait for a
	 * connection, or it failed the waiter before this one.
	 */
	private @Nullable Throwable lastingOutage() {
		boolean keptBack = this.waiter.request().waits() && !this.context.isReached();
		Throwable outage = keptBack ? unreached() : this.answers.inheritedTrouble();
		return (outage != null && !this.waiter.isWorthWaiting(outage)) ? outage : null;
	}

	private Throwable unreached() {
		StoreCommandException unreached = StoreCommandException.unreached(this.context.settings.outagePatience());
		return this.context.isAdmitted() ? unreached : StoreCommandException.notCompared(unreached);
	}

	/**
	 * Take its first answer from the RELEASE that brings it in.
	 * @param outcome what the store answers to that RELEASE
	 * @param sentAt when it was sent
	 * @return the same, completed after this has seen it: the waiter that goes on is to
	 * be woken up before the caller that has released
	 */
	CompletableFuture<ReleaseReply> follow(CompletableFuture<ReleaseReply> outcome, long sentAt) {
		// Its own: giving up this wait must not take back the other one's release.
		CompletableFuture<ReleaseReply> release = new CompletableFuture<>();
		SentCommand sent = this.answers.onSent(release, sentAt);
		long number = this.coordinator.onRequestSent();
		release.whenComplete((reply, error) -> this.coordinator.execute(() -> {
			if (error == null && reply.next() != null) {
				onAnswer(reply.next(), sent, HandOver.PASSED_ON);
			}
			else if (error != null && !EngineExceptions.isSilence(error)) {
				onFailure(error, sent);
			}
			else {
				if (error == null) {
					this.answers.onAnswer(sent);
				}
				// If it is late only for the caller that has released, it may come yet.
				if (isOpen()) {
					sendAcquire();
				}
			}
			onRequestOver(number);
		}));
		CompletableFuture<ReleaseReply> followed = outcome.whenComplete((reply, error) -> {
			if (error != null) {
				release.completeExceptionally(error);
			}
			else if (!release.complete(reply) && (reply.next() instanceof Granted || reply.next() instanceof Busy)) {
				// Brought in after its wait had ended.
				this.coordinator.releaseIfOver(this.command);
			}
		});
		askLater(sentAt);
		return followed;
	}

	private boolean isOpen() {
		return this.waiter.isContending();
	}

	/** Ask again after a while, or look then whether the time for an outage is over. */
	private void askLater(long now) {
		long patientUntil = this.answers.patientUntil(now);
		this.askAt = now + this.context.shortenRandomly(this.halfClaim);
		if (patientUntil - now > 0 || lastingOutage() != null) {
			this.askAt = Math.min(this.askAt, patientUntil);
		}
		arm(now);
	}

	/**
	 * Send ACQUIRE, or have the versions of the fleet compared first. Earlier ACQUIREs
	 * without an answer are not given up: whichever is answered first counts, or a store
	 * that is slower than the re-send time would never be heard.
	 */
	void sendAcquire() {
		long sentAt = this.context.scheduler.nanoTime();
		if (this.answers.isComparing()) {
			askLater(sentAt);
			return;
		}
		CompletableFuture<?> admission = this.context.requestAdmission(sentAt);
		if (admission != null) {
			askOnceAdmitted(admission, sentAt);
			return;
		}
		CompletableFuture<AcquireReply> command = this.waiter.request().waits() ? acquire(true) : acquireOnce();
		SentCommand sent = this.answers.onSent(command, sentAt);
		long number = this.coordinator.onRequestSent();
		command.whenComplete((reply, error) -> {
			this.coordinator.execute(() -> {
				if (error != null) {
					onFailure(error, sent);
				}
				else {
					onAnswer(reply, sent, HandOver.ASKED_AGAIN);
				}
				onRequestOver(number);
			});
			if (error != null && !(error instanceof CancellationException)) {
				this.context.observers.failed(Command.ACQUIRE);
			}
		});
		askLater(sentAt);
	}

	/**
	 * Send ACQUIRE once the instance is admitted. In an event: an ACQUIRE whose waiter
	 * has given up would come behind its RELEASE.
	 */
	private void askOnceAdmitted(CompletableFuture<?> admission, long sentAt) {
		SentCommand sent = this.answers.onComparing(admission, sentAt);
		long number = this.coordinator.onRequestSent();
		admission.whenComplete((admitted, error) -> this.coordinator.execute(() -> {
			this.answers.onCompared();
			this.coordinator.onCompared(error);
			if (error != null) {
				onFailure(error, sent);
			}
			else {
				this.answers.onAnswer(sent);
				if (isOpen()) {
					sendAcquire();
				}
			}
			onRequestOver(number);
		}));
		askLater(sentAt);
	}

	private CompletableFuture<AcquireReply> acquire(boolean enqueue) {
		return this.context.acquire(this.coordinator.resource(), this.command, enqueue);
	}

	/**
	 * Send ACQUIRE of a waiter that asks once. After a reconnect, NOSCRIPT or a
	 * redirection it may run before earlier releases of this instance: if it finds the
	 * resource held while any of these has no answer, it is sent again behind the
	 * answers. If none comes, the wait for it ends as that for the store.
	 */
	private CompletableFuture<AcquireReply> acquireOnce() {
		CompletableFuture<AcquireReply> first = acquire(false);
		CompletableFuture<AcquireReply> command = new CompletableFuture<>();
		first.whenComplete((reply, error) -> {
			CompletableFuture<?> releases = (reply instanceof Busy) ? this.coordinator.unansweredReleases() : null;
			if (releases == null) {
				complete(command, reply, error);
			}
			else {
				releases.thenRun(() -> this.coordinator.execute(() -> acquireAgain(command)));
			}
		});
		// What is given up is not to be sent any more.
		command.whenComplete((reply, error) -> first.cancel(true));
		return command;
	}

	/** Send ACQUIRE again, in an event: the release of its token comes behind it. */
	private void acquireAgain(CompletableFuture<AcquireReply> command) {
		if (isOpen() && !command.isDone()) {
			CompletableFuture<AcquireReply> second = acquire(false);
			second.whenComplete((reply, error) -> complete(command, reply, error));
			command.whenComplete((reply, error) -> second.cancel(true));
		}
	}

	private static void complete(CompletableFuture<AcquireReply> command, @Nullable AcquireReply reply,
			@Nullable Throwable error) {
		if (error != null) {
			command.completeExceptionally(error);
		}
		else {
			command.complete(reply);
		}
	}

	private void onRequestOver(long number) {
		if (number > 0) {
			this.coordinator.onRequestOver(number);
		}
	}

	private void onAnswer(AcquireReply reply, SentCommand sent, HandOver way) {
		this.answers.onAnswer(sent);
		// After the wait's end nothing is to be done: its RELEASE was sent after this
		// command.
		if (!isOpen()) {
			return;
		}
		if (reply instanceof Granted granted) {
			onGranted(granted, sent.at(), way);
		}
		else if (reply instanceof Rejected rejected) {
			this.waiter.onLimitExceeded(rejected.limit());
		}
		else {
			onBusy((Busy) reply, sent.at());
		}
	}

	private void onGranted(Granted granted, long sentAt, HandOver way) {
		long now = this.context.scheduler.nanoTime();
		if (this.answers.hasEnded(granted.fence())) {
			// It has asked again, when it learnt of that.
			return;
		}
		if (sentAt + Hold.validity(granted.ttlMillis()) - now > 0) {
			passGrant(granted, sentAt, way, now);
		}
		else {
			sendAcquire();
		}
	}

	private void onBusy(Busy reply, long sentAt) {
		this.answers.onBusy(sentAt, reply.fence());
		this.coordinator.noteOwner(reply);
		if (!this.waiter.request().waits()) {
			this.waiter.onRefused();
			return;
		}
		this.coordinator.onBusy(reply);
		long delay = this.context.shortenRandomly(this.halfClaim);
		if (reply.foreign() || !this.context.store.isListening()) {
			delay = Math.min(delay, this.context.retryDelay());
		}
		if (reply.ownerTtlMillis() >= 0) {
			// One more, as the store counts whole milliseconds: it is over by then.
			delay = Math.min(delay, TimeUnit.MILLISECONDS.toNanos(reply.ownerTtlMillis() + 1));
		}
		long now = this.context.scheduler.nanoTime();
		askBy(now + delay, now);
	}

	private void onFailure(Throwable error, SentCommand sent) {
		this.context.onAcquireFailed(this.coordinator.resource(), error);
		this.answers.onFailure(sent);
		if (!isOpen() || this.answers.isOld(sent.at())) {
			return;
		}
		this.answers.onTrouble(error);
		if (!this.waiter.isWorthWaiting(error)) {
			this.waiter.onFailure(error);
		}
		else {
			long now = this.context.scheduler.nanoTime();
			askBy(now + this.context.retryDelay(), now);
		}
	}

	/**
	 * Take a grant that another script has made.
	 * @param ttlMillis for how long, or 0 if there is none, or it is not confirmed
	 * @return false if nothing waits by this any more
	 */
	public boolean onNotified(long fence, long ttlMillis) {
		if (!isOpen()) {
			return false;
		}
		if (this.answers.isOldNews(fence)) {
			return true;
		}
		// The grant came after whatever was answered BUSY, so it lasts from then at
		// least.
		long since = this.answers.grantedSince();
		long now = this.context.scheduler.nanoTime();
		long left = since + Hold.validity(ttlMillis) - now;
		if (left > TimeUnit.MILLISECONDS.toNanos(ttlMillis) / 3) {
			passGrant(new Granted(fence, ttlMillis), since, HandOver.WOKEN_UP, now);
		}
		else {
			sendAcquire();
		}
		return true;
	}

	/** Give the grant to the first waiter here that asks for the same. */
	private void passGrant(Granted granted, long sentAt, HandOver way, long now) {
		this.context.onAcquired(this.coordinator.resource().kind());
		this.waiter.onGranted(granted, sentAt, way, now);
	}

	/**
	 * Note that its token was released by force, before it has learnt of the grant.
	 * @param nextFence above the fences of the grants that have ended
	 * @return false if nothing waits by this any more
	 */
	public boolean onEnded(long nextFence) {
		if (!isOpen()) {
			return false;
		}
		this.answers.onEnded(nextFence);
		sendAcquire();
		return true;
	}

	/** Ask again, as notifications may have been missed. */
	public void onListening() {
		if (isOpen()) {
			sendAcquire();
		}
	}

	/**
	 * Stop, with a grant or without: no answer to any command counts any more.
	 * @return since which reconnect a command may run late, or {@link Hold#NO_DOUBT}
	 */
	long stop() {
		disarm();
		return this.answers.cancel();
	}

	/** Return what the store has answered. */
	StoreAnswers answers() {
		return this.answers;
	}

	/** Return whether the store, not another holder, is what this waits for. */
	boolean isStoreSilent(long now) {
		return this.answers.isStoreSilent(now, this.waiter.request().waitNanos());
	}

}
