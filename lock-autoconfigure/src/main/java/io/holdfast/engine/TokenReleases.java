package io.holdfast.engine;

import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import io.holdfast.ReleaseResult;
import io.holdfast.async.BlockingWait;
import io.holdfast.async.CallResult;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.StoreCommandException;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The ends of tokens in the store: the releases that have no answer yet, and the tokens
 * that are to keep others out for a while. Thread-safe.
 */
final class TokenReleases {

	/** The most releases of an instance whose callers have gone on without an answer. */
	static final int MOST_UNAWAITED = 1_000;

	private static final Log logger = LogFactory.getLog(TokenReleases.class);

	private final ResourceQueues queues;

	private final EngineContext context;

	/** Releases that are on their way, by token. */
	private final Map<String, Release> releasing = new ConcurrentHashMap<>();

	/** RETAIN commands without an answer; a shut-down waits for them. */
	private final Set<CompletableFuture<?>> retaining = ConcurrentHashMap.newKeySet();

	/** Tokens that are over here, but keep others out for a while. */
	private final Set<String> retained = ConcurrentHashMap.newKeySet();

	/** Tokens that a command which is under way ends. */
	private final Set<String> ending = ConcurrentHashMap.newKeySet();

	/** Number of the releases without an answer whose callers go on. */
	private final AtomicInteger unawaited = new AtomicInteger();

	/** Whether such a release has failed, and none was answered since. */
	private final AtomicBoolean unawaitedFailing = new AtomicBoolean();

	/** Whether the store is about to be closed. */
	private volatile boolean closing;

	/** Create the releases of an instance. */
	TokenReleases(ResourceQueues queues) {
		this.queues = queues;
		this.context = queues.context;
	}

	/**
	 * Release a token.
	 * @param ended the token, with the terms of its request
	 * @param doubtSince since which reconnect a command that named the token may run
	 * late, or {@link Hold#NO_DOUBT}
	 * @param next the request in the same command, or {@code null}
	 * @return completed by the answer to the first command; fails if that fails or is
	 * late, after which the release is repeated
	 */
	CompletableFuture<ReleaseReply> release(Resource resource, AcquireCommand ended, long doubtSince,
			@Nullable AcquireCommand next) {
		return new Release(resource, ended, doubtSince).start(next);
	}

	/** Release the token of a hold that is over here. */
	void release(Hold hold) {
		release(hold.resource(), hold.toCommand(this.context.scheduler.nanoTime()), hold.doubtSince, null);
	}

	/**
	 * Release a token that the store tells of, unless it is in use here or its release is
	 * under way: a command may have run late, behind the one that ended the token.
	 */
	void releaseIfOver(Resource resource, AcquireCommand ended) {
		String token = ended.token();
		if (isOver(token) && !this.releasing.containsKey(token)) {
			release(resource, ended, Hold.NO_DOUBT, null);
		}
	}

	/**
	 * Release a token that nothing here needs any more, once a release of it that is
	 * under way is answered. In a cluster the second command may overtake the first,
	 * which then would find nothing, as if its holder had lost the lease.
	 */
	void releaseAfterOther(Resource resource, AcquireCommand ended) {
		Release other = this.releasing.get(ended.token());
		CompletableFuture<?> underWay = (other != null) ? other.outcome : CompletableFuture.completedFuture(null);
		underWay.whenComplete((reply, error) -> release(resource, ended, Hold.NO_DOUBT, null));
	}

	/**
	 * Return whether a token is one of this instance that nothing here needs any more.
	 */
	boolean isOver(String token) {
		return this.context.isOwn(token) && !this.queues.isInUse(token) && !isRetained(token)
				&& !this.ending.contains(token);
	}

	/** Return whether a token is over here, but is not to be released yet. */
	boolean isRetained(String token) {
		return this.retained.contains(token);
	}

	/**
	 * Note that tokens are about to be lost, and that a command will end them: a wake-up
	 * in between is not answered with RELEASE.
	 */
	void beginEnding(Collection<String> tokens) {
		this.ending.addAll(tokens);
	}

	/** Note that the command that ends tokens is over, or will not be sent. */
	void finishEnding(Collection<String> tokens) {
		this.ending.removeAll(Set.copyOf(tokens));
	}

	/** Return whether a hold that was lost ends in the store by itself. */
	boolean isLeftToStore(Hold lost) {
		return this.closing || lost.isEndedByShutDown() || isRetained(lost.token);
	}

	/** Send no more releases of lost holds, as the store is about to be closed. */
	void beginClosing() {
		this.closing = true;
	}

	/** Return whether no token is to be released later. */
	boolean isEmpty() {
		return this.retained.isEmpty();
	}

	/**
	 * Keep others out for a while after the release of a hold.
	 * @param result completed by the store's answer; fails if that fails or is late
	 */
	void retain(Hold hold, long nanos, CompletableFuture<ReleaseResult> result) {
		long endsAt = this.context.scheduler.nanoTime() + nanos;
		this.retained.add(hold.token);
		// First, or another thread may send the release of a very short one before it.
		sendRetain(hold, endsAt, result);
		this.context.scheduler.schedule(() -> {
			this.retained.remove(hold.token);
			release(hold);
		}, endsAt - this.context.scheduler.nanoTime());
	}

	/**
	 * Leave the end of a hold that was lost to the store, as code goes on under it.
	 * @param until the end, which may be after that of its lease
	 */
	void leave(Hold hold, long until) {
		this.retained.add(hold.token);
		if (until - hold.grantedUntil() > 0) {
			sendRetain(hold, until, new CompletableFuture<>());
		}
		this.context.scheduler.schedule(() -> this.retained.remove(hold.token),
				until - this.context.scheduler.nanoTime());
	}

	private void sendRetain(Hold hold, long endsAt, CompletableFuture<ReleaseResult> result) {
		if (!result.isDone()) {
			this.retaining.add(result);
			result.whenComplete((reply, error) -> this.retaining.remove(result));
		}
		sendRetain(hold, endsAt, result, 0);
	}

	/**
	 * Have the lease of a hold end at a time, should this instance end before it releases
	 * the token. Repeated until it is answered, or the store has forgotten the lease.
	 * @param result completed by the outcome of the first command
	 * @param failures the number of commands that have failed
	 */
	private void sendRetain(Hold hold, long endsAt, CompletableFuture<ReleaseResult> result, int failures) {
		// Whole milliseconds, not less.
		long millis = TimeUnit.NANOSECONDS.toMillis(endsAt - this.context.scheduler.nanoTime() + 999_999);
		// Given up before it is repeated, which it must not overtake.
		this.context.sendInTime(Command.RETAIN, () -> this.context.store.retain(hold.renewalCommand(millis)))
			.whenComplete((reply, error) -> {
				if (error == null) {
					result.complete(this.queues.renewer.judgeRelease(hold, reply));
					return;
				}
				result.completeExceptionally(EngineExceptions.retentionTrouble(hold.resource(), error));
				long delay = this.context.retryDelay() << Math.min(failures, 5);
				long at = this.context.scheduler.nanoTime() + delay;
				if (at - endsAt < 0 && at - hold.grantedUntil() < 0) {
					this.context.scheduler.schedule(() -> sendRetain(hold, endsAt, result, failures + 1), delay);
				}
			});
	}

	/**
	 * Wait for the releases that are on their way; for releases that are repeated after a
	 * temporary failure, as long as a command may take. Does not block.
	 * @return completed by the last of them, whether or not they succeeded
	 */
	CompletableFuture<@Nullable Void> awaitAnswers() {
		Stream<CompletableFuture<?>> unanswered = Stream.concat(this.releasing.values().stream().map(this::answer),
				this.retaining.stream());
		return CompletableFuture.allOf(unanswered.toArray(CompletableFuture[]::new)).handle((done, error) -> null);
	}

	private CompletableFuture<?> answer(Release release) {
		Throwable failure = release.failure();
		if (failure == null || !EngineExceptions.isTemporary(failure)) {
			return release.outcome;
		}
		CompletableFuture<@Nullable Void> answer = release.over.copy();
		Future<?> patience = this.context.scheduler.schedule(() -> answer.complete(null),
				this.context.commandTimeoutNanos);
		answer.whenComplete((over, error) -> patience.cancel(false));
		return answer;
	}

	/**
	 * Return the releases for the key of a resource that have no answer. Looks through
	 * all releases, of which few are under way at a time.
	 * @return completed by the last answer, perhaps to a repeated command, or when the
	 * store has forgotten the token; {@code null} if there are none
	 */
	@Nullable CompletableFuture<?> unanswered(Resource resource) {
		CompletableFuture<?>[] unanswered = releases(resource).map((release) -> release.over)
			.toArray(CompletableFuture<?>[]::new);
		return (unanswered.length > 0) ? CompletableFuture.allOf(unanswered) : null;
	}

	/**
	 * Wait for the first answers to the releases for a resource that are under way. Does
	 * not block.
	 * @return completed by the last of them, whether or not they succeeded
	 */
	CompletableFuture<?> firstAnswers(Resource resource) {
		CompletableFuture<?>[] outcomes = releases(resource).map((release) -> release.outcome)
			.toArray(CompletableFuture<?>[]::new);
		return CompletableFuture.allOf(outcomes).exceptionally((error) -> null);
	}

	/**
	 * Return the failure of a hold's release for the key of a resource, while the release
	 * is still to be repeated; {@code null} if there is none.
	 */
	@Nullable Throwable failure(Resource resource) {
		return releases(resource).filter((release) -> release.held)
			.map(Release::failure)
			.filter(Objects::nonNull)
			.findFirst()
			.orElse(null);
	}

	/**
	 * Let the caller of a release go on without the answer. The number of such releases
	 * is limited, so that a slow store slows its callers down. A failure is logged once
	 * until a release is answered: an outage may hit a thousand of them.
	 * @param answer the answer to come
	 * @param goOn completed once the caller may go on: at once or, beyond the limit, with
	 * the answer
	 */
	void letGoOn(CompletableFuture<?> answer, CompletableFuture<@Nullable Void> goOn) {
		if (answer.isDone() && !answer.isCompletedExceptionally()) {
			// Without the store, as for a nested lease: no news of an outage.
			goOn.complete(null);
			return;
		}
		boolean withinLimit = this.unawaited.incrementAndGet() <= MOST_UNAWAITED;
		answer.whenComplete((result, failure) -> {
			this.unawaited.decrementAndGet();
			if (failure != null) {
				logUnawaited(failure);
			}
			else if (this.unawaitedFailing.get()) {
				this.unawaitedFailing.set(false);
			}
			goOn.complete(null);
		});
		if (withinLimit) {
			goOn.complete(null);
		}
	}

	private void logUnawaited(Throwable failure) {
		String message = CallResult.cause(failure).getMessage();
		if (this.unawaitedFailing.compareAndSet(false, true)) {
			logger.warn(
					message + ". Further releases that fail after close() are not logged until a release is answered");
		}
		else {
			logger.debug(message);
		}
	}

	private Stream<Release> releases(Resource resource) {
		return this.releasing.values().stream().filter((release) -> release.resource.equals(resource));
	}

	/** Leave the tokens that keep others out to the store, where they end in time. */
	void clear() {
		this.retained.clear();
	}

	/**
	 * The end of a token: its RELEASE, repeated until it is answered or the store has
	 * forgotten the token by itself. Thread-safe.
	 */
	private final class Release {

		final Resource resource;

		/** Whether the token held: a waiter's is not in use any more. */
		final boolean held;

		/** Completed when the first command is answered, or is late. */
		final CompletableFuture<ReleaseReply> outcome = new CompletableFuture<>();

		/** Completed when any command is answered, or no more are sent. */
		final CompletableFuture<@Nullable Void> over = new CompletableFuture<>();

		private final EngineContext context = TokenReleases.this.context;

		private final AcquireCommand ended;

		private final long pointlessAt;

		/**
		 * The store's count of reconnects from before a command that named the token and
		 * may not have run yet, or {@link Hold#NO_DOUBT}.
		 */
		private final long doubtSince;

		private boolean done;

		private int attempts;

		/** The last attempt that has failed. */
		private int lastFailed;

		/** The last command that was sent. */
		private @Nullable CompletableFuture<ReleaseReply> command;

		private @Nullable Future<?> timer;

		Release(Resource resource, AcquireCommand ended, long doubtSince) {
			this.resource = resource;
			this.ended = ended;
			this.doubtSince = doubtSince;
			this.held = TokenReleases.this.queues.isInUse(ended.token());
			this.pointlessAt = this.context.scheduler.nanoTime()
					+ TimeUnit.MILLISECONDS.toNanos(ended.leaseMillis() + ended.claimMillis());
		}

		CompletableFuture<ReleaseReply> start(@Nullable AcquireCommand next) {
			Release before = TokenReleases.this.releasing.put(this.ended.token(), this);
			if (before != null) {
				this.over.thenAccept(before.over::complete);
			}
			send(next);
			return this.outcome;
		}

		/** Return why the first command failed, or {@code null} if it did not. */
		@Nullable Throwable failure() {
			return this.outcome.isCompletedExceptionally()
					? BlockingWait.join(this.outcome.<Throwable>handle((reply, error) -> error)) : null;
		}

		private synchronized void send(@Nullable AcquireCommand next) {
			if (this.done) {
				return;
			}
			int attempt = ++this.attempts;
			CompletableFuture<?> earlier = this.command;
			if (earlier != null) {
				this.over.thenRun(() -> earlier.cancel(true));
			}
			CompletableFuture<ReleaseReply> command = EngineContext
				.sendUnobserved(() -> this.context.store.release(this.resource, this.ended, next));
			this.command = command;
			if (!command.isDone()) {
				this.timer = this.context.scheduler
					.schedule(
							() -> onFailure(attempt, StoreCommandException
								.silence(this.context.settings.commandTimeout(), new TimeoutException())),
							this.context.commandTimeoutNanos);
			}
			command.whenComplete((reply, error) -> {
				if (error == null) {
					onAnswer(reply);
				}
				else {
					onFailure(attempt, error);
				}
			});
		}

		private void onAnswer(ReleaseReply reply) {
			synchronized (this) {
				if (this.done) {
					return;
				}
				this.done = true;
				disarm();
				if (this.doubtSince != Hold.NO_DOUBT && this.context.store.mayRunLate(this.doubtSince)) {
					// Once more, so late that every earlier command has run or is gone.
					this.context.scheduler.schedule(this::repeat,
							TimeUnit.MILLISECONDS.toNanos(this.ended.claimMillis()));
				}
			}
			this.outcome.complete(reply);
			end();
		}

		private void repeat() {
			// Only once: late copies of this one do no harm, as it brings in no other
			// token.
			release(this.resource, this.ended, Hold.NO_DOUBT, null);
		}

		private void onFailure(int attempt, Throwable error) {
			boolean pointless;
			synchronized (this) {
				if (attempt <= this.lastFailed) {
					// It was late before it failed.
					return;
				}
				this.lastFailed = attempt;
				pointless = !this.done && !trySchedule();
			}
			this.context.observers.failed(Command.RELEASE);
			this.outcome.completeExceptionally(error);
			if (pointless) {
				end();
			}
		}

		/** Send it again later; return false if that were too late to be of use. */
		private boolean trySchedule() {
			disarm();
			long delay = this.context.retryDelay() << Math.min(this.attempts - 1, 5);
			this.done = this.context.scheduler.nanoTime() + delay - this.pointlessAt >= 0;
			if (!this.done) {
				this.timer = this.context.scheduler.schedule(this::sendAgain, delay);
			}
			return !this.done;
		}

		private void sendAgain() {
			synchronized (this) {
				boolean kept = this.command != null && !this.command.isDone() && !this.context.isReached();
				if (this.done || !kept) {
					send(null);
					return;
				}
				// The store keeps the last command for its next connection.
				this.attempts++;
				if (trySchedule()) {
					return;
				}
			}
			end();
		}

		private void disarm() {
			if (this.timer != null) {
				this.timer.cancel(false);
				this.timer = null;
			}
		}

		/**
		 * Note that no command is sent any more, and the outcome is known. The store is
		 * not to keep commands without an answer for its next connection.
		 */
		private void end() {
			CompletableFuture<?> last;
			synchronized (this) {
				last = this.command;
			}
			if (last != null) {
				last.cancel(true);
			}
			// Another release of the same token may have come after this one.
			TokenReleases.this.releasing.remove(this.ended.token(), this);
			this.over.complete(null);
		}

	}

}
