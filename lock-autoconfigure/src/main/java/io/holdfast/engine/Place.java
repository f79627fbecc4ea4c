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
import org.jspecify.annotations.Nullable;

/**
 * A token of this instance that asks for a resource in the store, and the answers to its
 * commands. Data of a {@link ResourceQueue}, which alone reads and changes it, in its
 * events.
 */
final class Place {

	/** The token, and the terms of the request that the place was opened for. */
	final AcquireCommand command;

	final ResolvedRequest request;

	final String instanceId;

	/** The only waiter that the place may serve, or {@code null} if it is shared. */
	final @Nullable Waiter only;

	/**
	 * Half the claim without the loss margin: the longest time between two questions, in
	 * nanoseconds.
	 */
	final long halfClaim;

	/** The event in which the place was opened. */
	final long event;

	/** The store's count of reconnects before the first command. */
	private final long reconnects;

	/** The waiter that it serves in the present order. Found anew by each settling. */
	@Nullable Waiter waiter;

	/** Time of the next question. */
	long askAt;

	/** Questions without an answer. */
	private final List<Question> questions = new ArrayList<>(1);

	/** Whether a question was ever sent; before that, {@link #firstAskedAt} is void. */
	private boolean asked;

	long firstAskedAt;

	/** Whether any question was answered BUSY: others have the resource. */
	boolean busy;

	/** Time of the newest question that was answered BUSY. */
	private long busyAt;

	/** The highest fence of the BUSY answers; only grants above it are news. */
	private long busyFence;

	/** Above the fences of all grants that were released by force. */
	private long endedBelow;

	/** Last failure, unless an answer has come since. */
	@Nullable Throwable trouble;

	/** Time of that failure. */
	long failedAt;

	/** Whether the question of a request that does not wait was repeated. */
	boolean repeated;

	/** Whether a question waits for the comparison of the fleet's versions. */
	boolean comparing;

	/**
	 * Whether the store may have the token, besides by questions without an answer.
	 */
	boolean named;

	/** Whether a command failed or was given up that may run all the same. */
	private boolean doubtful;

	/** Whether the token is about to end: no answer counts any more. */
	boolean closed;

	/** Create the place of a waiter, which has asked nothing yet. */
	Place(String token, Waiter waiter, boolean shared, long event, long reconnects) {
		ResolvedRequest request = waiter.request;
		this.command = new AcquireCommand(token, request.permits(), request.limit(), request.fair(),
				request.leaseMillis(), request.claimMillis());
		this.request = request;
		this.halfClaim = (TimeUnit.MILLISECONDS.toNanos(request.claimMillis()) - request.lossMarginNanos()) / 2;
		this.instanceId = waiter.instanceId;
		this.only = shared ? null : waiter;
		this.waiter = waiter;
		this.event = event;
		this.reconnects = reconnects;
	}

	String token() {
		return this.command.token();
	}

	/** Return whether the place is shared, and may serve a waiter. */
	boolean serves(Waiter other) {
		return this.only == null && this.request.hasTermsOf(other.request) && this.instanceId.equals(other.instanceId);
	}

	/**
	 * Note a question: a command or, before the first one, the comparison of versions.
	 */
	Question ask(CompletableFuture<?> answer, long now, long number) {
		if (!this.asked) {
			this.asked = true;
			this.firstAskedAt = now;
		}
		Question question = new Question(answer, now, number, !this.comparing);
		this.questions.add(question);
		return question;
	}

	void answered(Question question) {
		this.questions.removeIf((open) -> open == question);
		this.named |= question.names;
		this.trouble = null;
	}

	/**
	 * Fail the questions that have been without an answer for too long. Those fail by
	 * events of their own, after the present one.
	 * @param longest the longest time without an answer
	 * @return whether any failed by this
	 */
	boolean failSilent(long now, long longest) {
		boolean failed = false;
		for (Question question : this.questions) {
			if (now - question.sentAt >= longest && !this.comparing && question.answer.completeExceptionally(
					StoreCommandException.silence(Duration.ofNanos(longest), new TimeoutException()))) {
				failed = true;
				// With the command that it waits for.
				question.answer.cancel(true);
			}
		}
		return failed;
	}

	/** Return the time at which the first question without an answer is to fail. */
	long silentAt(long now, long longest) {
		long first = now + ResolvedRequest.FOREVER;
		for (Question question : this.questions) {
			// The comparison of versions ends by itself.
			if (!question.answer.isDone() && !this.comparing) {
				first = ResourceQueue.earlier(first, question.sentAt + Math.min(longest, ResolvedRequest.FOREVER));
			}
		}
		return first;
	}

	/** Note that a question failed, which may have been executed all the same. */
	void failed(Question question, LeaseStore store) {
		this.questions.removeIf((open) -> open == question);
		doubt(question, store);
	}

	private void doubt(Question question, LeaseStore store) {
		if (question.names && store.mayRun(question.answer)) {
			this.named = true;
			this.doubtful = true;
		}
	}

	void busy(Question question, long fence) {
		if (!this.busy || question.sentAt - this.busyAt > 0) {
			this.busyAt = question.sentAt;
		}
		this.busy = true;
		this.busyFence = Math.max(this.busyFence, fence);
	}

	/** Note that all grants with fences below a number were released by force. */
	void ended(long nextFence) {
		this.endedBelow = Math.max(this.endedBelow, nextFence);
	}

	/** Return whether a grant of a fence is known to have been released by force. */
	boolean hasEnded(long fence) {
		return fence < this.endedBelow;
	}

	/** Return whether the store has told of a grant of this fence, or a later one. */
	boolean isOldNews(long fence) {
		return this.busy && fence <= this.busyFence || hasEnded(fence);
	}

	/** Return the earliest time of a grant that no answer has told of. */
	long grantedSince() {
		return this.busy ? this.busyAt : this.firstAskedAt;
	}

	/**
	 * Return whether a later question was answered: the outcome of this one tells nothing
	 * of the store.
	 */
	boolean isOld(Question question) {
		return this.busy && question.sentAt - this.busyAt < 0;
	}

	boolean isAnyOpen() {
		return !this.questions.isEmpty();
	}

	/** Return whether nothing was answered yet, and the last question did not fail. */
	boolean isAwaitingFirst() {
		return !this.busy && this.trouble == null;
	}

	/** Return the reason why the store gives no answer, if it is known. */
	@Nullable Throwable reason() {
		return (this.trouble == null && this.comparing) ? StoreCommandException.comparing() : this.trouble;
	}

	/**
	 * Return whether the wait is for the store and not for another holder: the last
	 * question failed, or one has been open for longer than an answer may take.
	 */
	boolean isSilent(EngineContext context, long now, long waitNanos) {
		if (this.trouble != null || isAwaitingFirst() && (this.comparing || !context.isReached())) {
			return true;
		}
		long wait = Math.max(waitNanos, EngineContext.FIRST_ANSWER_NANOS);
		long patience = Math.min(context.commandTimeoutNanos, wait) / 2;
		for (Question question : this.questions) {
			if (!isOld(question) && now - question.sentAt > patience) {
				return true;
			}
		}
		return false;
	}

	/** Note that the store has refused the token, and has not queued it. */
	void refused() {
		this.named = this.doubtful;
	}

	/**
	 * Give up all questions, with a grant or without.
	 * @return since which reconnect a command that named the token may run late, or
	 * {@link Hold#NO_DOUBT}
	 */
	long close(LeaseStore store) {
		this.closed = true;
		if (isAnyOpen()) {
			for (Question question : List.copyOf(this.questions)) {
				question.answer.cancel(true);
				doubt(question, store);
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
	 * A question that was sent.
	 *
	 * @param answer completed by its answer
	 * @param sentAt when it was sent
	 * @param number its number within the queue
	 * @param names whether it tells the store of the token
	 */
	record Question(CompletableFuture<?> answer, long sentAt, long number, boolean names) {
	}

}
