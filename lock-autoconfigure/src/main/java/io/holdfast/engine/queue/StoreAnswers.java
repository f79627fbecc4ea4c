package io.holdfast.engine.queue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.context.EngineContext;
import io.holdfast.engine.lease.Hold;
import io.holdfast.engine.store.StoreCommandException;
import org.jspecify.annotations.Nullable;

/**
 * The store's answers to the commands of one token, and the commands that it has left
 * without one. Confined to the coordinator.
 */
final class StoreAnswers {

	private final EngineContext context;

	/** Commands that named the token and are not answered. */
	private final List<SentCommand> unanswered = new ArrayList<>(1);

	/** When the first command that named the token was sent. */
	private long firstSentAt;

	/** How long its waiter had waited by then for the first answer to another one. */
	private long waitedBefore;

	/** When the last request was sent that was answered BUSY. */
	private long busySentAt;

	private boolean busy;

	/** The highest fence of the BUSY answers; only grants above it are news. */
	private long busyFence;

	/** Above the fences of all grants that were released by force. */
	private long endedBelow;

	private @Nullable Throwable trouble;

	/** Whether the store was silent to the contender before, and has been since. */
	private boolean silent;

	/** Whether a command that named the token failed, and may have run all the same. */
	private boolean doubtful;

	/** Whether a command has named the token: before that the store has none. */
	private boolean named;

	/** Whether the next command waits for the comparison of the fleet's versions. */
	private boolean comparing;

	/** The store's count of reconnects before the first command. */
	private final long reconnects;

	StoreAnswers(EngineContext context) {
		this.context = context;
		this.reconnects = context.store.reconnects();
	}

	/** Note for how long its waiter has waited for others here to be answered. */
	void setWaitedBefore(long nanos) {
		this.waitedBefore = nanos;
	}

	/** Note that a command leaves that names the token. */
	SentCommand onSent(CompletableFuture<?> command, long sentAt) {
		this.named = true;
		return add(command, sentAt);
	}

	/** Note that the next command waits for the comparison of the fleet's versions. */
	SentCommand onComparing(CompletableFuture<?> comparison, long askedAt) {
		this.comparing = true;
		return add(comparison, askedAt);
	}

	/** Note that the comparison has ended. */
	void onCompared() {
		this.comparing = false;
	}

	boolean isComparing() {
		return this.comparing;
	}

	private SentCommand add(CompletableFuture<?> command, long sentAt) {
		if (this.firstSentAt == 0) {
			this.firstSentAt = sentAt;
		}
		SentCommand sent = new SentCommand(command, sentAt);
		this.unanswered.add(sent);
		return sent;
	}

	/** Note that a command is answered. */
	void onAnswer(SentCommand sent) {
		this.unanswered.remove(sent);
		this.trouble = null;
		this.silent = false;
	}

	/** Note that a command was answered BUSY. */
	void onBusy(long sentAt, long fence) {
		if (!this.busy || sentAt - this.busySentAt > 0) {
			this.busySentAt = sentAt;
		}
		this.busy = true;
		this.busyFence = Math.max(this.busyFence, fence);
	}

	/** Note that grants with lower fences were released by force. */
	void onEnded(long nextFence) {
		this.endedBelow = Math.max(this.endedBelow, nextFence);
	}

	/** Return whether a grant of this fence is known to have been released by force. */
	boolean hasEnded(long fence) {
		return fence < this.endedBelow;
	}

	/** Note that a command failed, which may have run all the same. */
	void onFailure(SentCommand sent) {
		this.unanswered.remove(sent);
		this.doubtful = this.named;
	}

	/** Note why the last command failed. */
	void onTrouble(Throwable error) {
		this.trouble = error;
	}

	/**
	 * Give up all commands without an answer.
	 * @return as {@link #doubtSince()}
	 */
	long cancel() {
		if (!this.unanswered.isEmpty()) {
			this.doubtful = this.named;
			// Cancelling completes them, and so takes them out of the list.
			List.copyOf(this.unanswered).forEach((sent) -> sent.command.cancel(true));
		}
		return doubtSince();
	}

	/**
	 * Take the place of a contender that the store was silent to. A wait that ends before
	 * the next answer was for the store, too, however short this contender has asked.
	 */
	void inheritSilence(StoreAnswers last) {
		this.silent = true;
		this.trouble = last.trouble;
	}

	/** Return whether a command is not answered yet. */
	boolean isAnyOpen() {
		return !this.unanswered.isEmpty();
	}

	/** Return whether any command was answered BUSY. */
	boolean isBusy() {
		return this.busy;
	}

	/**
	 * Return whether nothing was answered BUSY yet, and the last command did not fail.
	 */
	boolean isAwaitingFirst() {
		return !this.busy && this.trouble == null;
	}

	@Nullable Throwable trouble() {
		return (this.trouble == null && this.comparing) ? StoreCommandException.comparing() : this.trouble;
	}

	/** Return whether the store has told of a grant of this fence, or a later one. */
	boolean isOldNews(long fence) {
		return this.busy && fence <= this.busyFence || hasEnded(fence);
	}

	/**
	 * Return the earliest time at which a grant that came after all answers can begin.
	 */
	long grantedSince() {
		return this.busy ? this.busySentAt : this.firstSentAt;
	}

	/**
	 * Return until when the store may fail without ending the wait. It has the time for
	 * one answer, however long others have waited before; and all of the time from when
	 * the connection was lost, however long it was silent before.
	 */
	long patientUntil(long now) {
		long patience = this.context.settings.outagePatience().toNanos();
		long until = this.firstSentAt + ((this.waitedBefore == 0) ? patience
				: Math.max(patience - this.waitedBefore, EngineContext.FIRST_ANSWER_NANOS));
		if (until - now > 0) {
			return until;
		}
		long unreached = this.context.store.unreachedNanos();
		return (unreached > 0) ? now - unreached + patience : until;
	}

	/** Return whether the store may still fail without ending the wait. */
	boolean isPatient() {
		long now = this.context.scheduler.nanoTime();
		return now - patientUntil(now) < 0;
	}

	/**
	 * Return why the store failed the contender before, if it has answered nothing since.
	 */
	@Nullable Throwable inheritedTrouble() {
		return this.silent ? this.trouble : null;
	}

	/** Return whether a command may still run that named the token. */
	boolean isDoubtful() {
		return this.doubtful || this.named && !this.unanswered.isEmpty();
	}

	/** Return whether the store may have the token. */
	boolean isNamed() {
		return this.named;
	}

	/**
	 * Return since which reconnect a command that named the token may run late.
	 * @return the count of reconnects, or {@link Hold#NO_DOUBT}
	 */
	long doubtSince() {
		return isDoubtful() ? this.reconnects : Hold.NO_DOUBT;
	}

	/**
	 * Return whether the store, not another holder, is what the token waits for: it
	 * failed last, or has left the last question open for longer than an answer may take.
	 * @param now the time
	 * @param waitNanos how long the waiter waits
	 */
	boolean isStoreSilent(long now, long waitNanos) {
		boolean unanswered = isAwaitingFirst() && (this.comparing || !this.context.isReached());
		if (this.trouble != null || this.silent || unanswered) {
			return true;
		}
		long wait = Math.max(waitNanos, EngineContext.FIRST_ANSWER_NANOS);
		long patience = Math.min(this.context.commandTimeoutNanos(), wait) / 2;
		return this.unanswered.stream().anyMatch((sent) -> !isOld(sent.at) && now - sent.at > patience);
	}

	/**
	 * Return whether a later question was answered: what becomes of this one tells
	 * nothing of the store.
	 */
	boolean isOld(long sentAt) {
		return this.busy && sentAt - this.busySentAt < 0;
	}

	/** A command on its way. */
	static final class SentCommand {

		/** Completed by its answer. */
		private final CompletableFuture<?> command;

		private final long at;

		SentCommand(CompletableFuture<?> command, long at) {
			this.command = command;
			this.at = at;
		}

		/** Return when it was sent. */
		long at() {
			return this.at;
		}

	}

}
