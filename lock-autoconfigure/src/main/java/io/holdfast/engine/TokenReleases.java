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
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Releases tokens in the store. Keeps unanswered releases, and tokens that keep other
 * owners out for their minHold. Thread-safe.
 */
final class TokenReleases {

	/** Maximum number of unanswered releases whose callers do not wait for the answer. */
	static final int MAX_UNAWAITED = 1_000;

	private static final Log logger = LogFactory.getLog(TokenReleases.class);

	private final ResourceQueues queues;

	private final EngineContext context;

	/** Releases under way, by token. */
	private final Map<String, Release> releasing = new ConcurrentHashMap<>();

	/** Results of unanswered RETAIN commands. A shutdown waits for them. */
	private final Set<CompletableFuture<?>> retaining = ConcurrentHashMap.newKeySet();

	/** Tokens that have ended in this instance, but still keep other owners out. */
	private final Set<String> retained = ConcurrentHashMap.newKeySet();

	/** Tokens that a command under way will end. */
	private final Set<String> ending = ConcurrentHashMap.newKeySet();

	/** Number of unanswered releases whose callers do not wait. */
	private final AtomicInteger unawaited = new AtomicInteger();

	/**
	 * Whether a release without a waiting caller has failed, and none was answered since.
	 */
	private final AtomicBoolean unawaitedFailing = new AtomicBoolean();

	/** Whether the store will be closed soon. */
	private volatile boolean closing;

	/** Create the releases of an instance. */
	TokenReleases(ResourceQueues queues) {
		this.queues = queues;
		this.context = queues.context;
	}

	/**
	 * Release a token.
	 * @param ended the token, with the terms of its request
	 * @param doubtSince the value of {@link Hold#doubtSince}
	 * @param next the request to queue by the same command, or {@code null}
	 * @return a future of the answer to the first command. It fails if the first command
	 * fails or has no answer in time; the release is then repeated in the background
	 */
	CompletableFuture<ReleaseReply> release(Resource resource, AcquireCommand ended, long doubtSince,
			@Nullable AcquireCommand next) {
		return new Release(resource, ended, doubtSince).start(next);
	}

	/** Release the token of an ended hold. */
	void release(Hold hold) {
		release(hold.resource(), hold.toCommand(this.context.scheduler.nanoTime()), hold.doubtSince, null);
	}

	/**
	 * Release a token that the store has brought in or granted late, unless it is in use
	 * or its release is under way.
	 */
	void releaseIfUnused(Resource resource, AcquireCommand ended) {
		String token = ended.token();
		if (isUnused(token) && !this.releasing.containsKey(token)) {
			release(resource, ended, Hold.NO_DOUBT, null);
		}
	}

	/**
	 * Release an unused token after a release of it that is under way is answered. In a
	 * cluster, the second command might otherwise overtake the first, which would then
	 * find nothing, as if the holder had lost the lease.
	 */
	void releaseAfterOther(Resource resource, AcquireCommand ended) {
		Release otherRelease = this.releasing.get(ended.token());
		CompletableFuture<?> underWay = (otherRelease != null) ? otherRelease.outcome
				: CompletableFuture.completedFuture(null);
		underWay.whenComplete((reply, error) -> release(resource, ended, Hold.NO_DOUBT, null));
	}

	/**
	 * Return whether a token belongs to this instance and is no longer needed.
	 */
	boolean isUnused(String token) {
		return this.context.isOwn(token) && !this.queues.isInUse(token) && !isRetained(token)
				&& !this.ending.contains(token);
	}

	/**
	 * Return whether a token has ended in this instance, but still keeps other owners
	 * out.
	 */
	boolean isRetained(String token) {
		return this.retained.contains(token);
	}

	/**
	 * Note that a command will end tokens. Notifications of their grants in between must
	 * not cause a RELEASE.
	 */
	void beginEnding(Collection<String> tokens) {
		this.ending.addAll(tokens);
	}

	/**
	 * Note that the command for {@link #beginEnding} is answered, or will not be sent.
	 */
	void finishEnding(Collection<String> tokens) {
		this.ending.removeAll(Set.copyOf(tokens));
	}

	/** Return whether the lease of a lost hold is left to expire in the store. */
	boolean isLeftToStore(Hold lost) {
		return this.closing || lost.endedByShutDown || isRetained(lost.token);
	}

	/** Send no more releases of lost holds, because the store will be closed soon. */
	void beginClosing() {
		this.closing = true;
	}

	/** Return whether no tokens are retained. */
	boolean isEmpty() {
		return this.retained.isEmpty();
	}

	/**
	 * Keep other owners out for a time after the release of a hold.
	 * @param nanos the time, in nanoseconds
	 * @param result completed by the store's answer; fails if the command fails or has no
	 * answer in time
	 */
	void retain(Hold hold, long nanos, CompletableFuture<ReleaseResult> result) {
		long endsAt = this.context.scheduler.nanoTime() + nanos;
		this.retained.add(hold.token);
		// Before the release is scheduled: for a very short time, another thread might
		// send the release first.
		sendRetain(hold, endsAt, result);
		this.context.scheduler.schedule(() -> {
			this.retained.remove(hold.token);
			release(hold);
		}, endsAt - this.context.scheduler.nanoTime());
	}

	/**
	 * Let the lease of a lost hold expire in the store, because its code is still
	 * running.
	 * @param until the end, which may be later than the end of the lease
	 */
	void letExpire(Hold hold, long until) {
		this.retained.add(hold.token);
		if (until - hold.grantedUntil() > 0) {
			sendRetain(hold, until, new CompletableFuture<>());
		}
		this.context.scheduler.schedule(() -> this.retained.remove(hold.token),
				until - this.context.scheduler.nanoTime());
	}

	private void sendRetain(Hold hold, long endsAt, CompletableFuture<ReleaseResult> result) {
		this.retaining.add(result);
		result.whenComplete((reply, error) -> this.retaining.remove(result));
		sendRetain(hold, endsAt, result, 0);
	}

	/**
	 * Set the end of a lease in the store, in case this instance ends before it releases
	 * the token. Repeated until the command is answered or the lease has expired.
	 * @param result completed by the outcome of the first command
	 * @param failures the number of failed commands so far
	 */
	private void sendRetain(Hold hold, long endsAt, CompletableFuture<ReleaseResult> result, int failures) {
		// Rounded up to whole milliseconds.
		long millis = TimeUnit.NANOSECONDS.toMillis(endsAt - this.context.scheduler.nanoTime() + 999_999);
		// With a timeout, so that a late command cannot overtake its repetition.
		this.context.sendInTime(Command.RETAIN, () -> this.context.store.retain(hold.renewalCommand(millis)))
			.whenComplete((reply, error) -> {
				if (error == null) {
					result.complete(this.queues.renewer.judgeRelease(hold, reply));
					return;
				}
				result.completeExceptionally(EngineExceptions.retentionTrouble(hold.resource(), error));
				long delay = this.context.retryDelay() << Math.min(failures, 5);
				long retryAt = this.context.scheduler.nanoTime() + delay;
				if (retryAt - endsAt < 0 && retryAt - hold.grantedUntil() < 0) {
					this.context.scheduler.schedule(() -> sendRetain(hold, endsAt, result, failures + 1), delay);
				}
			});
	}

	/**
	 * Wait for the releases under way. Waits for releases that are repeated after a
	 * temporary failure for a command timeout at most. Does not block.
	 * @return a future that is completed when all releases are over, successful or not
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
	 * Wait for the unanswered releases of a resource. Scans all releases, of which few
	 * are under way at a time. Does not block.
	 * @return a future that is completed when all of them are answered or have expired,
	 * {@code null} if there are none
	 */
	@Nullable CompletableFuture<?> unanswered(Resource resource) {
		CompletableFuture<?>[] unanswered = releases(resource).map((release) -> release.over)
			.toArray(CompletableFuture<?>[]::new);
		return (unanswered.length > 0) ? CompletableFuture.allOf(unanswered) : null;
	}

	/**
	 * Wait for the first command of each release of a resource. Does not block.
	 * @return a future that is completed when all of them are answered or have failed
	 */
	CompletableFuture<?> firstAnswers(Resource resource) {
		CompletableFuture<?>[] outcomes = releases(resource).map((release) -> release.outcome)
			.toArray(CompletableFuture<?>[]::new);
		return CompletableFuture.allOf(outcomes).exceptionally((error) -> null);
	}

	/**
	 * Return the failure of a hold's release that is still being repeated, or
	 * {@code null} if the resource has none.
	 */
	@Nullable Throwable failure(Resource resource) {
		return releases(resource).filter((release) -> release.held)
			.map(Release::failure)
			.filter(Objects::nonNull)
			.findFirst()
			.orElse(null);
	}

	/**
	 * Let the caller of a release continue without the answer. The number of such
	 * releases is limited, so that a slow store slows its callers down. Of consecutive
	 * failures, only the first is logged as a warning, because an outage may affect a
	 * thousand releases.
	 * @param answer the future of the answer
	 * @param mayContinue completed when the caller may continue: at once, or with the
	 * answer if the limit is reached
	 */
	void letCallerContinue(CompletableFuture<?> answer, CompletableFuture<@Nullable Void> mayContinue) {
		if (answer.isDone() && !answer.isCompletedExceptionally()) {
			// Answered without the store, as for a nested lease: says nothing about an
			// outage.
			mayContinue.complete(null);
			return;
		}
		boolean withinLimit = this.unawaited.incrementAndGet() <= MAX_UNAWAITED;
		answer.whenComplete((result, failure) -> {
			this.unawaited.decrementAndGet();
			if (failure != null) {
				logUnawaited(failure);
			}
			else if (this.unawaitedFailing.get()) {
				this.unawaitedFailing.set(false);
			}
			mayContinue.complete(null);
		});
		if (withinLimit) {
			mayContinue.complete(null);
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

	/** Forget the retained tokens, which expire in the store. */
	void clear() {
		this.retained.clear();
	}

	/**
	 * Release of a token. RELEASE is repeated until it is answered, or the token has
	 * expired in the store. Thread-safe.
	 */
	private final class Release {

		final Resource resource;

		/**
		 * Whether the token belongs to a hold. A waiter's token is no longer in use at
		 * its release.
		 */
		final boolean held;

		/**
		 * Completed by the outcome of the first command: an answer, a failure or a
		 * timeout.
		 */
		final CompletableFuture<ReleaseReply> outcome = new CompletableFuture<>();

		/** Completed when any command is answered, or no more commands are sent. */
		final CompletableFuture<@Nullable Void> over = new CompletableFuture<>();

		private final EngineContext context = TokenReleases.this.context;

		private final AcquireCommand ended;

		private final long expiresAt;

		/**
		 * Value of {@link Hold#doubtSince} for the token.
		 */
		private final long doubtSince;

		private boolean done;

		private int attempts;

		/** Number of the last failed attempt. */
		private int lastFailed;

		/** Last command. */
		private @Nullable CompletableFuture<ReleaseReply> command;

		private @Nullable Future<?> timer;

		Release(Resource resource, AcquireCommand ended, long doubtSince) {
			this.resource = resource;
			this.ended = ended;
			this.doubtSince = doubtSince;
			this.held = TokenReleases.this.queues.isInUse(ended.token());
			this.expiresAt = this.context.scheduler.nanoTime()
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

		/**
		 * Return the failure of the first command, or {@code null} if it has not failed.
		 */
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
				this.timer = this.context.scheduler.schedule(
						() -> onFailure(attempt,
								this.context.silence(this.context.settings.commandTimeout(), new TimeoutException())),
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
					// Once more, late enough that all earlier commands have run or are
					// dropped.
					this.context.scheduler.schedule(this::repeat,
							TimeUnit.MILLISECONDS.toNanos(this.ended.claimMillis()));
				}
			}
			this.outcome.complete(reply);
			end();
		}

		private void repeat() {
			// No further repetition: late copies of this command do no harm, as it brings
			// in no other token.
			release(this.resource, this.ended, Hold.NO_DOUBT, null);
		}

		private void onFailure(int attempt, Throwable error) {
			boolean expired;
			synchronized (this) {
				if (attempt <= this.lastFailed) {
					// The timeout of this attempt was already processed.
					return;
				}
				this.lastFailed = attempt;
				expired = !this.done && !trySchedule();
			}
			this.context.observers.failed(Command.RELEASE);
			this.outcome.completeExceptionally(error);
			if (expired) {
				end();
			}
		}

		/**
		 * Schedule a repetition. Returns {@code false} if the token will have expired by
		 * then.
		 */
		private boolean trySchedule() {
			disarm();
			long delay = this.context.retryDelay() << Math.min(this.attempts - 1, 5);
			this.done = this.context.scheduler.nanoTime() + delay - this.expiresAt >= 0;
			if (!this.done) {
				this.timer = this.context.scheduler.schedule(this::sendAgain, delay);
			}
			return !this.done;
		}

		private void sendAgain() {
			synchronized (this) {
				boolean commandPending = this.command != null && !this.command.isDone() && !this.context.isReached();
				if (this.done || !commandPending) {
					send(null);
					return;
				}
				// Not needed: the store will send the last command after the next
				// connect.
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
		 * End this release, whose outcome is known. Cancels the last command, so that the
		 * store does not send it after its next connect.
		 */
		private void end() {
			CompletableFuture<?> last;
			synchronized (this) {
				last = this.command;
			}
			if (last != null) {
				last.cancel(true);
			}
			// Only this release: a later release of the token may have replaced it.
			TokenReleases.this.releasing.remove(this.ended.token(), this);
			this.over.complete(null);
		}

	}

}
