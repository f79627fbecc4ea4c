package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.Tokens;
import org.jspecify.annotations.Nullable;

/**
 * A token of this instance that contends for a resource in the store, with the state of
 * its questions. A question is a command to the store for this token. Data of a
 * {@link ResourceQueue}: only read and changed in the events of the queue.
 */
final class Place {

	/** Token, and terms of the request for which the place was opened. */
	final AcquireCommand command;

	final ResolvedRequest request;

	/** Waiter of a reserved place. {@code null} for a shared place. */
	final @Nullable Waiter reservedFor;

	/**
	 * Maximum time between two questions, in nanoseconds: half of the claim less the loss
	 * margin.
	 */
	final long halfClaim;

	/** Number of the event that opened the place. */
	final long openingEvent;

	/** Time of the opening, before the first question. */
	final long openedAt;

	/** The store's number of reconnects before the first command. */
	private final long reconnects;

	/** Waiter that the place serves now. Determined by each settling. */
	@Nullable Waiter waiter;

	/** Time of the next question. */
	long askAt;

	/** Unanswered questions. */
	private final List<Question> questions = new ArrayList<>(1);

	/** Whether any question was answered with BUSY: another owner has the resource. */
	boolean busy;

	/** Time of the newest question that was answered with BUSY. */
	private long busyAt;

	/**
	 * Highest fence of the BUSY answers. Notifications of grants up to this fence are
	 * outdated.
	 */
	private long busyFence;

	/** Fence below which all grants were released by force. */
	private long releasedBelow;

	/** Last failure, or {@code null} if an answer has come since. */
	@Nullable Throwable trouble;

	/** Time of the last failure. */
	long failedAt;

	/** Whether the single question of a request without waiting was repeated. */
	boolean repeated;

	/** Whether the place waits for the comparison of the fleet's versions. */
	boolean comparing;

	/**
	 * Whether the store may know the token from a question that is no longer unanswered.
	 */
	boolean knownToStore;

	/** Whether a failed or cancelled command may still run. */
	private boolean doubtful;

	/** Whether the place is closed. Further answers are ignored. */
	boolean closed;

	/** Create a place for a waiter, which asks at once. */
	Place(String token, Waiter waiter, boolean shared, long event, long now, long reconnects) {
		ResolvedRequest request = waiter.request;
		this.command = new AcquireCommand(token, request.permits(), request.limit(), request.fair(),
				request.leaseMillis(), request.claimMillis());
		this.request = request;
		this.halfClaim = (TimeUnit.MILLISECONDS.toNanos(request.claimMillis()) - request.lossMarginNanos()) / 2;
		this.reservedFor = shared ? null : waiter;
		this.waiter = waiter;
		this.openingEvent = event;
		this.openedAt = now;
		this.askAt = now;
		this.reconnects = reconnects;
	}

	String token() {
		return this.command.token();
	}

	/** Return whether this is a shared place whose terms fit a waiter. */
	boolean mayServe(Waiter other) {
		return this.reservedFor == null && this.request.hasTermsOf(other.request)
				&& Tokens.isOf(token(), other.instanceId);
	}

	/**
	 * Add a question: a command or, before the first command, the comparison of versions.
	 */
	Question onAsked(CompletableFuture<?> answer, long now) {
		Question question = new Question(answer, now, !this.comparing);
		this.questions.add(question);
		return question;
	}

	void onAnswered(Question question) {
		this.questions.removeIf((open) -> open == question);
		this.knownToStore |= question.carriesToken;
		this.trouble = null;
	}

	/**
	 * Fail the questions whose answers are overdue. Each failure is processed in an event
	 * of its own, after the current event.
	 * @param context the source of the reason
	 * @param longest the timeout of a question, in nanoseconds
	 * @return whether any question failed
	 */
	boolean failOverdue(EngineContext context, long now, long longest) {
		boolean failed = false;
		for (Question question : this.questions) {
			if (now - question.sentAt >= longest && !this.comparing && question.answer
				.completeExceptionally(context.silence(Duration.ofNanos(longest), new TimeoutException()))) {
				failed = true;
				// Also cancels the command that the question depends on.
				question.answer.cancel(true);
			}
		}
		return failed;
	}

	/** Return the earliest timeout of the unanswered questions. */
	long nextTimeoutAt(long now, long longest) {
		long first = now + ResolvedRequest.FOREVER;
		for (Question question : this.questions) {
			// The comparison of versions has its own timeout.
			if (!question.answer.isDone() && !this.comparing) {
				first = ResourceQueue.earlier(first, question.sentAt + Math.min(longest, ResolvedRequest.FOREVER));
			}
		}
		return first;
	}

	/** Process a failed question. Its command may have been executed all the same. */
	void onFailed(Question question, LeaseStore store) {
		this.questions.removeIf((open) -> open == question);
		doubtIfMayRun(question, store);
	}

	private void doubtIfMayRun(Question question, LeaseStore store) {
		if (question.carriesToken && store.mayRun(question.answer)) {
			this.knownToStore = true;
			this.doubtful = true;
		}
	}

	void onBusy(Question question, long fence) {
		if (!this.busy || question.sentAt - this.busyAt > 0) {
			this.busyAt = question.sentAt;
		}
		this.busy = true;
		this.busyFence = Math.max(this.busyFence, fence);
	}

	/** Note that all grants below a fence were released by force. */
	void onForcedRelease(long nextFence) {
		this.releasedBelow = Math.max(this.releasedBelow, nextFence);
	}

	/** Return whether the grant with a fence was released by force. */
	boolean isReleasedByForce(long fence) {
		return fence < this.releasedBelow;
	}

	/** Return whether a notification of a grant with a fence is outdated. */
	boolean isOutdated(long fence) {
		return this.busy && fence <= this.busyFence || isReleasedByForce(fence);
	}

	/** Return the earliest possible time of a grant that is not answered yet. */
	long grantedSince() {
		return this.busy ? this.busyAt : this.openedAt;
	}

	/**
	 * Return whether a later question is already answered, so that this question's
	 * outcome does not matter.
	 */
	boolean isSuperseded(Question question) {
		return this.busy && question.sentAt - this.busyAt < 0;
	}

	boolean hasOpenQuestion() {
		return !this.questions.isEmpty();
	}

	/** Return whether the first answer is still awaited, without a failure so far. */
	boolean isAwaitingFirst() {
		return !this.busy && this.trouble == null;
	}

	/** Return the known reason why the store does not answer, or {@code null}. */
	@Nullable Throwable reason(EngineContext context) {
		return (this.trouble == null && this.comparing) ? StoreCommandException.comparing(context.whySilent())
				: this.trouble;
	}

	/**
	 * Return whether the place waits for the store, and not for another holder: the last
	 * question failed, or a question is unanswered for too long.
	 */
	boolean isSilent(EngineContext context, long now, long waitNanos) {
		if (this.trouble != null || isAwaitingFirst() && (this.comparing || !context.isReached())) {
			return true;
		}
		long wait = Math.max(waitNanos, EngineContext.FIRST_ANSWER_NANOS);
		long patience = Math.min(context.commandTimeoutNanos, wait) / 2;
		for (Question question : this.questions) {
			if (!isSuperseded(question) && now - question.sentAt > patience) {
				return true;
			}
		}
		return false;
	}

	/** Note that the store has refused the token without queueing it. */
	void onRefused() {
		this.knownToStore = this.doubtful;
	}

	/**
	 * Close this place, and cancel its questions.
	 * @return the value of {@link Hold#doubtSince} for the token
	 */
	long close(LeaseStore store) {
		this.closed = true;
		if (hasOpenQuestion()) {
			for (Question question : List.copyOf(this.questions)) {
				question.answer.cancel(true);
				doubtIfMayRun(question, store);
			}
			this.questions.clear();
		}
		return this.doubtful ? this.reconnects : Hold.NO_DOUBT;
	}

	@Override
	public String toString() {
		return "Place[" + this.token() + ", " + this.waiter + "]";
	}

	/**
	 * A question to the store.
	 *
	 * @param answer the future of the answer
	 * @param sentAt the time of the question
	 * @param carriesToken whether the question makes the token known to the store
	 */
	record Question(CompletableFuture<?> answer, long sentAt, boolean carriesToken) {
	}

}
