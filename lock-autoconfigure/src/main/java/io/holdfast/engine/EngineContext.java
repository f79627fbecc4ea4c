package io.holdfast.engine;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.Supplier;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockHolder;
import io.holdfast.async.CallResult;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.engine.store.Tokens;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Context that all parts of an engine share: store, clock, threads for callbacks,
 * settings, observers, random jitter, and the identity of the instance. Sends commands to
 * the store. Parts depend on this class instead of the engine. Thread-safe.
 */
public final class EngineContext {

	private static final Log logger = LogFactory.getLog(EngineContext.class);

	/**
	 * Minimum time for the store's first answer, in nanoseconds, even if the wait time is
	 * shorter.
	 */
	public static final long FIRST_ANSWER_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

	/** Prefix of the key of an engine's warm-up request. */
	static final String WARM_UP_KEY = "holdfast-start-";

	public final LeaseStore store;

	public final Scheduler scheduler;

	/** Runs listeners, and work of the engine that may block. */
	final Executor callbacks;

	/** Runs continuations of users, which may block. */
	final Executor code;

	public final EngineSettings settings;

	/** Timeout of a command, in nanoseconds. */
	final long commandTimeoutNanos;

	/** Time for which a request goes on while the store fails, in nanoseconds. */
	final long outagePatienceNanos;

	final EngineObservers observers;

	private final DoubleSupplier random;

	private final Supplier<String> instanceIds;

	private final Runnable start;

	/** Membership in the fleet. {@code null} if requests need no admission. */
	private volatile @Nullable Membership membership;

	/**
	 * End of the admission to the fleet, by the monotonic clock. {@code null} if not
	 * admitted.
	 */
	private volatile @Nullable Long admittedUntil;

	/** Random id, new at each start. {@code null} before the first start. */
	private volatile @Nullable String instanceId;

	/** Whether requests are refused because of a shutdown. */
	private volatile boolean closed;

	/** Prefix of the names of keys in fence tables. */
	private volatile String fencePrefix = "";

	private final Refusals refusals = new Refusals();

	/**
	 * Create a context.
	 * @param store the store of the leases
	 * @param settings the defaults and timeouts
	 * @param scheduler the clock
	 * @param callbacks runs listeners, and work of the engine that may block
	 * @param code runs continuations of users
	 * @param random supplies numbers from 0 to 1, for jitter
	 * @param instanceIds supplies globally unique ids
	 * @param start starts the engine, which sets the identity
	 */
	public EngineContext(LeaseStore store, EngineSettings settings, Scheduler scheduler, Executor callbacks,
			Executor code, DoubleSupplier random, Supplier<String> instanceIds, Runnable start) {
		this.store = store;
		this.settings = settings;
		this.commandTimeoutNanos = settings.commandTimeout().toNanos();
		this.outagePatienceNanos = settings.outagePatience().toNanos();
		this.scheduler = scheduler;
		this.callbacks = (action) -> start(callbacks, action);
		this.code = (action) -> start(code, action);
		this.observers = new EngineObservers(this.callbacks);
		this.random = random;
		this.instanceIds = instanceIds;
		this.start = start;
	}

	// Identity

	/** Return the id of this instance, which must have been started. */
	public String instanceId() {
		return Objects.requireNonNull(this.instanceId, "not started");
	}

	/**
	 * Start the instance if it is not started yet.
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
	 * Set a new id, as this process may be a copy of another process.
	 * @param listener receives the store's notifications for the new id; {@code null} to
	 * receive none
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

	/** Return the name of a lock's key in fence tables. */
	String fenceName(String key) {
		return this.fencePrefix + key;
	}

	/** Set the prefix of the names of keys in fence tables. */
	void setFencePrefix(String fencePrefix) {
		this.fencePrefix = fencePrefix;
	}

	/** Return whether a token has the current id of this instance. */
	boolean isOwn(String token) {
		return isStarted() && Tokens.isOf(token, instanceId());
	}

	/** Return whether requests are refused because of a shutdown. */
	public boolean isClosed() {
		return this.closed;
	}

	/** Refuse new requests, or accept them again. */
	void setClosed(boolean closed) {
		this.closed = closed;
	}

	/**
	 * Return the registration of an instance.
	 * @return the instance, or {@code null} if it is not registered
	 */
	@Nullable LockHolder holder(String instanceId) {
		Membership current = this.membership;
		return (current != null) ? current.holder(instanceId) : null;
	}

	/**
	 * Set the membership in the fleet, which admits requests for leases and names
	 * holders.
	 */
	public void setMembership(Membership membership) {
		this.admittedUntil = null;
		this.membership = membership;
	}

	/**
	 * Return the membership, or {@code null} if this instance is not registered in the
	 * fleet.
	 */
	@Nullable Membership membership() {
		return this.membership;
	}

	/**
	 * Set the end of the admission to the fleet.
	 * @param until the end of the admission, by the monotonic clock; {@code null} to end
	 * it at once
	 */
	public void setAdmittedUntil(@Nullable Long until) {
		this.admittedUntil = until;
	}

	/** Return whether the instance is admitted to the fleet, or needs no admission. */
	public boolean isAdmitted() {
		return isAdmitted(this.scheduler.nanoTime());
	}

	private boolean isAdmitted(long now) {
		Long until = this.admittedUntil;
		return this.membership == null || until != null && now - until < 0;
	}

	/**
	 * Request admission to the fleet if the instance needs it.
	 * @param now the time
	 * @return a future of the admission, or {@code null} if none is needed
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
	 * Return the known reason why no leases are granted.
	 * @return the store's message, or the incompatible instances; {@code null} if no
	 * reason is known
	 */
	@Nullable String refusal() {
		Membership current = this.membership;
		String incompatibility = (current != null) ? current.incompatibility() : null;
		return (incompatibility != null) ? incompatibility : this.refusals.text(this.scheduler.nanoTime());
	}

	// Commands

	/**
	 * Check whether the store accepts writes, and note the result. Observers are not
	 * notified: the check fails for users without rights to locks, which is no error.
	 * @return completed after the check, successful or not
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

	/** Set a limit in the store, after the admission of the instance. */
	public CompletableFuture<Boolean> limit(Resource resource, @Nullable Integer limit) {
		ensureStarted();
		CompletableFuture<@Nullable Void> admission = requestAdmission(this.scheduler.nanoTime());
		return sendInTime(Command.LIMIT, () -> (admission == null) ? this.store.limit(resource, limit)
				: admission.thenCompose((admitted) -> this.store.limit(resource, limit)));
	}

	/** Read the state of a resource from the store. */
	public CompletableFuture<Standing> inspect(Resource resource, int maxHolders, int maxWaiters) {
		return sendInTime(Command.INSPECT, () -> this.store.inspect(resource, maxHolders, maxWaiters));
	}

	/**
	 * Send a command. Errors thrown on the way to the store, such as a stack overflow or
	 * a lack of memory, fail the future like any failure of the store.
	 */
	public <T> CompletableFuture<T> send(Command command, Supplier<CompletableFuture<T>> sender) {
		ensureStarted();
		return this.observers.follow(command, sendUnobserved(sender));
	}

	/**
	 * Send a command, and give it up if it has no answer within the command timeout. A
	 * command that was not sent by then is not sent any more; a command that was sent may
	 * still be executed.
	 */
	public <T> CompletableFuture<T> sendInTime(Command command, Supplier<CompletableFuture<T>> sender) {
		return this.observers.follow(command, sendInTime(sender));
	}

	private <T> CompletableFuture<T> sendInTime(Supplier<CompletableFuture<T>> sender) {
		ensureStarted();
		CompletableFuture<T> sent = sendUnobserved(sender);
		if (sent.isDone()) {
			return sent;
		}
		CompletableFuture<T> answer = new CompletableFuture<>();
		Future<?> timeout = this.scheduler.schedule(() -> {
			answer.completeExceptionally(silence(this.settings.commandTimeout(), new TimeoutException()));
			sent.cancel(true);
		}, this.commandTimeoutNanos);
		sent.whenComplete((reply, error) -> {
			timeout.cancel(false);
			CallResult.complete(answer, reply, error);
		});
		return answer;
	}

	/** Send a command without notifying the observers: the caller does so. */
	public static <T> CompletableFuture<T> sendUnobserved(Supplier<CompletableFuture<T>> sender) {
		try {
			return sender.get();
		}
		catch (RuntimeException | Error ex) {
			return CompletableFuture.failedFuture(ex);
		}
	}

	/**
	 * Wait for an answer, ignoring interrupts, for work that must not stop halfway. The
	 * thread's interrupt flag is kept.
	 * @param answer the answer
	 * @param patience the maximum wait
	 * @param trouble creates the exception to throw if the answer is a failure or does
	 * not arrive in time
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
					throw trouble.apply(silence(patience, ex));
				}
			}
		}
		finally {
			if (interrupted) {
				Thread.currentThread().interrupt();
			}
		}
	}

	/** Wait for the answer to a user's command that reads the store. */
	<T> T awaitAnswer(CompletableFuture<T> command, Resource resource, String what) {
		return await(command, this.settings.commandTimeout(),
				(error) -> EngineExceptions.storeTrouble(resource, what, error));
	}

	/** Wait for the answer to a user's command that changes the store. */
	<T> T awaitAnswerToChange(CompletableFuture<T> command, Resource resource, String what) {
		return await(command, this.settings.commandTimeout(),
				(error) -> EngineExceptions.changeTrouble(resource, what, error));
	}

	/**
	 * Wait until a release is sent. Usually the release is already sent; otherwise
	 * another thread sends it.
	 * @param sent completed when the caller may continue
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

	/** Return whether the store is connected, so that commands are sent at once. */
	boolean isReached() {
		return this.store.unreachedNanos() == 0;
	}

	/** Return the failure of a command without an answer, with the reason if known. */
	StoreCommandException silence(Duration patience, TimeoutException cause) {
		return StoreCommandException.silence(patience, whySilent(), cause);
	}

	/**
	 * Return the known reason why the store does not answer, as the end of a sentence. In
	 * a cluster, only the failure of the connection for notifications is known.
	 */
	String whySilent() {
		if (!isReached()) {
			return ", as the connection to it is lost" + whyLost();
		}
		String reason = this.store.whyNotListening();
		return (reason != null) ? "; notifications are not received either: " + reason : "";
	}

	/**
	 * Return the known reason of a lost connection, as the end of a sentence. New
	 * connections for notifications fail for the same reason as those for commands.
	 */
	String whyLost() {
		String reason = this.store.whyNotListening();
		return (reason != null) ? ": " + reason : "";
	}

	// Callbacks

	/**
	 * Run an action on another thread, later if no thread can be started now. Otherwise,
	 * a lease would never reach its caller, and would be renewed for ever.
	 */
	private void start(Executor threads, Runnable action) {
		try {
			threads.execute(action);
		}
		catch (OutOfMemoryError ex) {
			this.scheduler.schedule(() -> start(threads, action), retryDelay());
		}
	}

	/** Run an action on a thread that may block, and log its exception. */
	public void call(Runnable action) {
		this.callbacks.execute(() -> run(action));
	}

	/** Run an action, and log its exception. */
	static void run(Runnable action) {
		try {
			action.run();
		}
		catch (RuntimeException | Error ex) {
			logger.error("A callback failed", ex);
		}
	}

	// Time

	/** Return a time, randomly shortened by up to a fifth. */
	public long shortenRandomly(long nanos) {
		return (long) (nanos * (0.8 + 0.2 * this.random.getAsDouble()));
	}

	/** Return the delay before a failed command is repeated, in nanoseconds. */
	long retryDelay() {
		return (long) (this.settings.retryInterval().toNanos() * (0.75 + 0.5 * this.random.getAsDouble()));
	}

	/**
	 * Return the maximum wait for a release. A backstop: a release ends by itself within
	 * the command timeout.
	 */
	Duration releasePatience() {
		return this.settings.commandTimeout().plusSeconds(1);
	}

}
