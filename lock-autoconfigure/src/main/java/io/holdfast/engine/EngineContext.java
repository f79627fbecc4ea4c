package io.holdfast.engine;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.Supplier;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockHolder;
import io.holdfast.NotAcquiredException;
import io.holdfast.async.BoundedExecutor;
import io.holdfast.async.PromptAction;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.engine.store.Tokens;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The surroundings that all parts of one engine share: the store and how commands are
 * sent to it, the clock, the threads for callbacks, settings, observers, jitter, and the
 * identity of the instance. Each part takes this instead of the engine. Thread-safe.
 */
public final class EngineContext {

	private static final Log logger = LogFactory.getLog(EngineContext.class);

	/**
	 * The time that the store has for its first answer, also if the wait is shorter.
	 */
	public static final long FIRST_ANSWER_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

	/** Beginning of the key of an engine's own request at its start. */
	static final String WARM_UP_KEY = "holdfast-start-";

	/** The number of threads on which users are told of losses. */
	private static final int LOSS_THREADS = 64;

	public final LeaseStore store;

	public final Scheduler scheduler;

	final Executor callbacks;

	private final Executor code;

	public final EngineSettings settings;

	/** How long an answer may take. */
	final long commandTimeoutNanos;

	/** How long requests wait while the store fails. */
	final long outagePatienceNanos;

	final EngineObservers observers;

	/** Runs actions of leases that were lost and, behind them, listeners. */
	private final BoundedExecutor lossActions = new BoundedExecutor(this::execute, LOSS_THREADS);

	/** Runs actions on losses that are over at once. */
	private final BoundedExecutor promptActions = new BoundedExecutor(this::execute, 1);

	private final AtomicBoolean warnedOfLossActions = new AtomicBoolean();

	private final DoubleSupplier random;

	private final Supplier<String> instanceIds;

	private final Runnable start;

	/** Without it leases may be asked for. */
	private volatile @Nullable Membership membership;

	/** End of the admission to the fleet; {@code null} without one. */
	private volatile @Nullable Long admittedUntil;

	private volatile @Nullable InstanceDirectory directory;

	/** Drawn at each start; {@code null} before the first one. */
	private volatile @Nullable String instanceId;

	/** Whether nothing new is granted. */
	private volatile boolean closed;

	/** Beginning of the names of keys in fence tables. */
	private volatile String fencePrefix = "";

	private final Refusals refusals = new Refusals();

	/**
	 * Create a context.
	 * @param store where the leases are kept
	 * @param settings defaults and times
	 * @param scheduler the clock
	 * @param callbacks runs listeners, and work of the engine that may block
	 * @param code runs continuations of users
	 * @param random gives numbers from 0 to 1, for jitter
	 * @param instanceIds gives ids that no other instance has
	 * @param start starts the engine, which then has an identity
	 */
	public EngineContext(LeaseStore store, EngineSettings settings, Scheduler scheduler, Executor callbacks,
			Executor code, DoubleSupplier random, Supplier<String> instanceIds, Runnable start) {
		this.store = store;
		this.settings = settings;
		this.commandTimeoutNanos = settings.commandTimeout().toNanos();
		this.outagePatienceNanos = settings.outagePatience().toNanos();
		this.scheduler = scheduler;
		this.callbacks = callbacks;
		this.code = code;
		this.observers = new EngineObservers(callbacks);
		this.random = random;
		this.instanceIds = instanceIds;
		this.start = start;
	}

	// Identity

	/** Return the id of this instance, which has been started. */
	public String instanceId() {
		return Objects.requireNonNull(this.instanceId, "not started");
	}

	/**
	 * Start the instance, unless that was done.
	 * @return its id
	 */
	public String ensureStarted() {
		String id = this.instanceId;
		if (id == null) {
			this.start.run();
			id = instanceId();
		}
		return id;
	}

	/**
	 * Become another instance, by a new id: the process may be a copy of another one.
	 * @param listener told by the store, from now on, of actions of others for this
	 * instance and of their requests; {@code null} to be told nothing
	 */
	void renewIdentity(@Nullable StoreNotifications listener) {
		String id = this.instanceIds.get();
		if (listener != null) {
			this.store.start(id, listener);
		}
		this.instanceId = id;
		this.refusals.clear();
	}

	/** Return whether the instance has an id. */
	public boolean isStarted() {
		return this.instanceId != null;
	}

	/** Return the name of a key of a lock in fence tables. */
	String fenceName(String key) {
		return this.fencePrefix + key;
	}

	/** Set the beginning of the names of keys in fence tables. */
	void setFencePrefix(String fencePrefix) {
		this.fencePrefix = fencePrefix;
	}

	/** Return whether a token is of this instance, as it is called now. */
	boolean isOwn(String token) {
		return isStarted() && Tokens.isOf(token, instanceId());
	}

	/** Return whether nothing new is granted, as the instance shuts down or has. */
	public boolean isClosed() {
		return this.closed;
	}

	/** Grant nothing new any more, or grant again. */
	void setClosed(boolean closed) {
		this.closed = closed;
	}

	/**
	 * Return the name of an instance.
	 * @return the instance; {@code null} if the register does not have it
	 */
	@Nullable LockHolder holder(String instanceId) {
		Membership current = this.membership;
		return (current != null) ? current.holder(instanceId) : null;
	}

	/**
	 * Return the exception for a wait that timed out.
	 * @param owns whether this instance holds the lock exclusively
	 * @param busy the last answer of the store, or {@code null}
	 */
	NotAcquiredException timedOut(ResolvedRequest request, long waitedNanos, boolean owns, @Nullable Busy busy) {
		String owner = owns ? instanceId() : (busy != null) ? busy.owner() : null;
		if (owner == null) {
			return EngineExceptions.timedOut(request, waitedNanos, busy);
		}
		LockHolder holder = holder(owner);
		String heldBy = (holder != null && !holder.application().equals(InstanceInfo.UNKNOWN))
				? "application '" + holder.application() + "' on " + holder.host() + ", process " + holder.process()
				: "instance " + Tokens.shown(owner);
		boolean own = isStarted() && owner.equals(instanceId());
		return EngineExceptions.timedOut(request, waitedNanos, own ? heldBy + " (this instance)" : heldBy, holder);
	}

	/** Set the membership, which admits requests for leases and names holders. */
	public void setMembership(Membership membership) {
		this.admittedUntil = null;
		this.membership = membership;
	}

	/** Return the membership; {@code null} if this instance shows itself to no others. */
	@Nullable Membership membership() {
		return this.membership;
	}

	/** Set the directory of instances. */
	void setDirectory(InstanceDirectory directory) {
		this.directory = directory;
	}

	/** Return the directory of instances, or {@code null}. */
	@Nullable InstanceDirectory directory() {
		return this.directory;
	}

	/**
	 * Set the end of the admission to the fleet.
	 * @param until the time from which leases may not be asked for without another one;
	 * {@code null} for at once
	 */
	public void setAdmittedUntil(@Nullable Long until) {
		this.admittedUntil = until;
	}

	/** Return whether the instance is admitted to the fleet, as far as is known. */
	public boolean isAdmitted() {
		return isAdmitted(this.scheduler.nanoTime());
	}

	private boolean isAdmitted(long now) {
		Long until = this.admittedUntil;
		return this.membership == null || until != null && now - until < 0;
	}

	/**
	 * Request the admission to the fleet, unless the instance has it.
	 * @param now the time
	 * @return the answer; {@code null} if leases may be asked for
	 */
	public @Nullable CompletableFuture<@Nullable Void> requestAdmission(long now) {
		Membership current = this.membership;
		return (current == null || isAdmitted(now)) ? null : current.requestAdmission();
	}

	/** Note that the store has granted a lease. */
	void onAcquired(Kind kind) {
		if (this.refusals.any) {
			this.refusals.onGranted(kind);
		}
	}

	/** Note that a request for a lease has failed. */
	void onAcquireFailed(Resource resource, Throwable error) {
		if (resource.key().startsWith(WARM_UP_KEY)) {
			this.refusals.onWarmUpFailed(error, this.scheduler.nanoTime());
		}
		else {
			this.refusals.onRequestFailed(resource.kind(), error, this.scheduler.nanoTime());
		}
	}

	/**
	 * Return why no leases are granted, as far as is known.
	 * @return the words of the store, or the other instances that do not fit;
	 * {@code null} if nothing is known
	 */
	@Nullable String refusal() {
		Membership current = this.membership;
		String misfit = (current != null) ? current.misfit() : null;
		return (misfit != null) ? misfit : this.refusals.text(this.scheduler.nanoTime());
	}

	// Commands

	/**
	 * Find out whether the store writes. Observers are not told: without rights to locks
	 * it fails where nothing is wrong.
	 * @return completed when that is known, or without an answer in time
	 */
	CompletableFuture<@Nullable Void> tryWrite() {
		long sentAt = this.scheduler.nanoTime();
		return sendInTime(this.store::tryWrite).handle((done, error) -> {
			if (error != null) {
				this.refusals.onWriteFailed(error, this.scheduler.nanoTime());
			}
			else {
				this.refusals.onWritten(sentAt);
			}
			return null;
		});
	}

	/** Set a limit in the store, once the instance is admitted. */
	public CompletableFuture<Boolean> limit(Resource resource, @Nullable Integer limit) {
		ensureStarted();
		CompletableFuture<@Nullable Void> admission = requestAdmission(this.scheduler.nanoTime());
		return sendInTime(Command.LIMIT, () -> (admission == null) ? this.store.limit(resource, limit)
				: admission.thenCompose((admitted) -> this.store.limit(resource, limit)));
	}

	/**
	 * Send a command. A store throws nothing, but the stack may end or memory be full on
	 * the way to it; the sender must learn of that as of any other failure.
	 */
	public <T> CompletableFuture<T> send(Command command, Supplier<CompletableFuture<T>> way) {
		ensureStarted();
		return this.observers.follow(command, sendUnobserved(way));
	}

	/**
	 * Send a command that is given up if it is not answered within the command timeout.
	 * It may be executed all the same, but is not sent any more.
	 */
	public <T> CompletableFuture<T> sendInTime(Command command, Supplier<CompletableFuture<T>> way) {
		return this.observers.follow(command, sendInTime(way));
	}

	private <T> CompletableFuture<T> sendInTime(Supplier<CompletableFuture<T>> way) {
		ensureStarted();
		CompletableFuture<T> sent = sendUnobserved(way);
		if (sent.isDone()) {
			return sent;
		}
		CompletableFuture<T> answer = new CompletableFuture<>();
		Future<?> silence = this.scheduler.schedule(() -> {
			answer.completeExceptionally(
					StoreCommandException.silence(this.settings.commandTimeout(), new TimeoutException()));
			sent.cancel(true);
		}, this.commandTimeoutNanos);
		sent.whenComplete((reply, error) -> {
			silence.cancel(false);
			if (error != null) {
				answer.completeExceptionally(error);
			}
			else {
				answer.complete(reply);
			}
		});
		return answer;
	}

	/** Send a command of which the sender tells the observers itself. */
	public static <T> CompletableFuture<T> sendUnobserved(Supplier<CompletableFuture<T>> way) {
		try {
			return way.get();
		}
		catch (RuntimeException | Error ex) {
			return CompletableFuture.failedFuture(ex);
		}
	}

	/**
	 * Wait for an answer, for work that must not be given up half done: interrupts do not
	 * end the wait; the thread's flag is kept.
	 * @param answer the answer
	 * @param patience the longest wait
	 * @param trouble makes the exception to throw if it fails or does not come
	 * @return the answer
	 */
	public <T> T await(CompletableFuture<T> answer, Duration patience, Function<Throwable, RuntimeException> trouble) {
		boolean interrupted = false;
		long until = this.scheduler.nanoTime() + patience.toNanos();
		try {
			while (true) {
				try {
					return this.scheduler.waitUntil(answer, until);
				}
				catch (InterruptedException ex) {
					interrupted = true;
				}
				catch (ExecutionException ex) {
					throw trouble.apply((ex.getCause() != null) ? ex.getCause() : ex);
				}
				catch (TimeoutException ex) {
					throw trouble.apply(StoreCommandException.silence(patience, ex));
				}
			}
		}
		finally {
			if (interrupted) {
				Thread.currentThread().interrupt();
			}
		}
	}

	/** Wait for the answer to a command that a user asked for. */
	<T> T awaitAnswer(CompletableFuture<T> command, Resource resource, String what) {
		return await(command, this.settings.commandTimeout(),
				(error) -> EngineExceptions.storeTrouble(resource, what, error));
	}

	/** Wait for the answer to a command of a user that changes the store. */
	<T> T awaitAnswerToChange(CompletableFuture<T> command, Resource resource, String what) {
		return await(command, this.settings.commandTimeout(),
				(error) -> EngineExceptions.changeTrouble(resource, what, error));
	}

	/**
	 * Wait until a release was sent. Mostly that is done; else another thread sends it.
	 * @param sent completed once the caller may go on
	 */
	void awaitSent(CompletableFuture<?> sent, Resource resource) {
		if (!sent.isDone()) {
			try {
				await(sent, releasePatience(), (error) -> EngineExceptions.releaseTrouble(resource, error));
			}
			catch (LeaseStoreException ex) {
				logger.warn(ex.getMessage());
			}
		}
	}

	/** Return whether commands leave at once, as far as the store knows. */
	boolean isReached() {
		return this.store.unreachedNanos() == 0;
	}

	// Callbacks

	/**
	 * Run an action on a thread that may block, or on this one if the executor rejects
	 * it: a lease that waits for the action would be renewed for ever.
	 */
	void execute(Runnable action) {
		execute(this.callbacks, action);
	}

	/** Do the same with the continuation of a user, for which nothing else waits. */
	void executeCode(Runnable action) {
		execute(this.code, action);
	}

	private static void execute(Executor threads, Runnable action) {
		try {
			threads.execute(action);
		}
		catch (RejectedExecutionException ex) {
			action.run();
		}
	}

	/** Run an action on a thread that may block, and log its exception. */
	public void call(Runnable action) {
		execute(() -> run(action));
	}

	/** Run an action of a user on the loss of a lease. */
	void callOnLoss(Runnable action) {
		if (action instanceof PromptAction) {
			this.promptActions.execute(() -> run(action));
			return;
		}
		this.lossActions.executeFirst(() -> run(action));
		warnOfLossActions();
	}

	/** Tell the listener of the user of the loss of a lease. */
	void callListener(Runnable event) {
		this.lossActions.execute(() -> run(event));
		warnOfLossActions();
	}

	private void warnOfLossActions() {
		if (this.lossActions.waiting() >= LOSS_THREADS && this.warnedOfLossActions.compareAndSet(false, true)) {
			logger.warn("The onLost actions and LeaseLostEvent listeners are too slow: they keep " + LOSS_THREADS
					+ " threads, and further ones wait; the leases are not affected");
		}
	}

	private static void run(Runnable action) {
		try {
			action.run();
		}
		catch (RuntimeException | Error ex) {
			logger.error("A callback failed", ex);
		}
	}

	// Time

	/** Return a time shortened at random by up to a fifth. */
	public long shortenRandomly(long nanos) {
		return (long) (nanos * (0.8 + 0.2 * this.random.getAsDouble()));
	}

	/** Return how long to wait before a failed command is sent again, in nanoseconds. */
	long retryDelay() {
		return (long) (this.settings.retryInterval().toNanos() * (0.75 + 0.5 * this.random.getAsDouble()));
	}

	/**
	 * Return how long to wait for a release, which answers for itself within the command
	 * timeout: a backstop.
	 */
	Duration releasePatience() {
		return this.settings.commandTimeout().plusSeconds(1);
	}

}
