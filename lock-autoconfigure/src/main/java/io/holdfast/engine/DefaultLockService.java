package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.DoubleSupplier;
import java.util.stream.Collectors;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockNotAcquiredException.Reason;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.LockStatus;
import io.holdfast.LockStatus.Owner;
import io.holdfast.LockView;
import io.holdfast.engine.LeaseStore.KeyState;

/**
 * {@link LockService} over any {@link LeaseStore}: the blocking and the asynchronous face
 * of one engine. An instance of it is an <em>instance</em> in the sense of the protocol,
 * with an id of its own. Thread-safe. Not final, so that applications can put aspects
 * around it.
 */
public class DefaultLockService implements LockService, AutoCloseable {

	private static final Log logger = LogFactory.getLog(DefaultLockService.class);

	/** How much later than its deadline a blocked call looks after itself. */
	private static final long SLACK = TimeUnit.MILLISECONDS.toNanos(150);

	private final LockEngine engine;

	private final ThreadHolds threadHolds = new ThreadHolds();

	private final @Nullable ThreadScheduler ownScheduler;

	/**
	 * Create a service with a scheduler of its own.
	 * @param store where the leases are kept; closed with this service
	 * @param settings defaults and times
	 */
	public DefaultLockService(LeaseStore store, EngineSettings settings) {
		this(store, settings, new ThreadScheduler());
	}

	private DefaultLockService(LeaseStore store, EngineSettings settings, ThreadScheduler scheduler) {
		this(store, settings, scheduler, scheduler, scheduler.callbacks(), LockEngine.newInstanceId(),
				() -> ThreadLocalRandom.current().nextDouble());
	}

	/**
	 * Create a service that runs on the caller's clock, threads and randomness.
	 * @param store where the leases are kept; closed with this service
	 * @param settings defaults and times
	 * @param scheduler the clock
	 * @param callbacks runs what belongs to users: listeners, continuations
	 * @param instanceId 32 hexadecimal digits that no other instance has
	 * @param random gives numbers from 0 to 1, for jitter
	 */
	public DefaultLockService(LeaseStore store, EngineSettings settings, Scheduler scheduler, Executor callbacks,
			String instanceId, DoubleSupplier random) {
		this(store, settings, scheduler, null, callbacks, instanceId, random);
	}

	private DefaultLockService(LeaseStore store, EngineSettings settings, Scheduler scheduler,
			@Nullable ThreadScheduler ownScheduler, Executor callbacks, String instanceId, DoubleSupplier random) {
		this.ownScheduler = ownScheduler;
		this.engine = new LockEngine(store, scheduler, callbacks, settings, instanceId, random);
	}

	@Override
	public LockLease acquire(LockRequest request) {
		long startedAt = this.engine.now();
		try {
			return await(request);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new LockNotAcquiredException(request.key(), Reason.INTERRUPTED,
					Duration.ofNanos(this.engine.now() - startedAt), ex);
		}
	}

	@Override
	public Optional<LockLease> tryAcquire(LockRequest request) {
		try {
			return Optional.of(acquire(request));
		}
		catch (LockNotAcquiredException ex) {
			return emptyIfTimedOut(ex);
		}
	}

	private static Optional<LockLease> emptyIfTimedOut(LockNotAcquiredException ex) {
		if (ex.getReason() == Reason.TIMED_OUT) {
			return Optional.empty();
		}
		throw ex;
	}

	/** Acquire for the current thread, in which an interrupt ends the wait. */
	HeldLease await(LockRequest request) throws InterruptedException {
		if (Thread.interrupted()) {
			throw new InterruptedException();
		}
		Waiter waiter = begin(request, Thread.currentThread());
		try {
			return await(waiter);
		}
		catch (InterruptedException ex) {
			this.engine.abandon(waiter, new LockNotAcquiredException(request.key(), Reason.INTERRUPTED,
					Duration.ofNanos(waiter.waitedNanos()), ex));
			if (waiter.result.isCompletedExceptionally()) {
				throw ex;
			}
			// Granted just before: the caller has the lock, and still its flag.
			Thread.currentThread().interrupt();
			return waiter.result.join();
		}
	}

	/**
	 * Acquire for the current thread, whatever its interrupt flag says, which is kept.
	 */
	HeldLease awaitUninterruptibly(LockRequest request) {
		boolean interrupted = Thread.interrupted();
		try {
			Waiter waiter = begin(request, Thread.currentThread());
			while (true) {
				try {
					return await(waiter);
				}
				catch (InterruptedException ex) {
					interrupted = true;
				}
			}
		}
		finally {
			if (interrupted) {
				Thread.currentThread().interrupt();
			}
		}
	}

	private Waiter begin(LockRequest request, @Nullable Thread owner) {
		return this.engine.acquire(request.key(), Demand.of(request, this.engine.settings), owner);
	}

	private HeldLease await(Waiter waiter) throws InterruptedException {
		long left = Math.max(waiter.demand.waitNanos(), LockEngine.FIRST_ANSWER_NANOS) - waiter.waitedNanos() + SLACK;
		try {
			return waiter.result.get(left, TimeUnit.NANOSECONDS);
		}
		catch (ExecutionException ex) {
			throw rethrown(ex);
		}
		catch (TimeoutException ex) {
			// The engine's own timer is late: this thread is not.
			this.engine.abandon(waiter, this.engine.storeTrouble(waiter, null));
			try {
				return waiter.result.join();
			}
			catch (CompletionException failure) {
				throw rethrown(failure);
			}
		}
	}

	/** The engine's exception, with the stack of the thread that it is thrown in. */
	private static RuntimeException rethrown(Exception ex) {
		if (ex.getCause() instanceof RuntimeException cause) {
			cause.setStackTrace(new Throwable().getStackTrace());
			return cause;
		}
		return new IllegalStateException(ex);
	}

	@Override
	public CompletableFuture<LockLease> acquireAsync(LockRequest request) {
		Waiter waiter = begin(request, null);
		CompletableFuture<LockLease> face = new CompletableFuture<>();
		waiter.result.whenCompleteAsync((lease, error) -> {
			if (error != null) {
				face.completeExceptionally(error);
			}
			else if (!face.complete(lease)) {
				lease.releaseAsync();
			}
		}, this.engine.callbacks);
		face.whenComplete((lease, error) -> {
			if (!waiter.result.isDone()) {
				// Cancelled, or completed by its user.
				this.engine.abandon(waiter, this.engine.notAcquired(waiter, Reason.INTERRUPTED));
			}
		});
		return face;
	}

	@Override
	public CompletableFuture<Optional<LockLease>> tryAcquireAsync(LockRequest request) {
		CompletableFuture<LockLease> acquired = acquireAsync(request);
		CompletableFuture<Optional<LockLease>> face = new CompletableFuture<>();
		acquired.whenComplete((lease, error) -> {
			if (error instanceof LockNotAcquiredException ex && ex.getReason() == Reason.TIMED_OUT) {
				face.complete(Optional.empty());
			}
			else if (error != null) {
				face.completeExceptionally(error);
			}
			else if (!face.complete(Optional.of(lease))) {
				lease.releaseAsync();
			}
		});
		face.whenComplete((lease, error) -> acquired.cancel(false));
		return face;
	}

	@Override
	public LockView asLock(String key) {
		return new ThreadLock(this, LockRequest.of(key), this.threadHolds);
	}

	@Override
	public LockStatus status(String key) {
		KeyState state = inspect(LockRequest.of(key).key());
		String owner = state.owner();
		if (owner == null) {
			return new LockStatus(key, Owner.NONE, null, state.fence(), state.waiting());
		}
		return new LockStatus(key, kind(owner), (state.ttlMillis() >= 0) ? Duration.ofMillis(state.ttlMillis()) : null,
				state.fence(), state.waiting());
	}

	private Owner kind(String owner) {
		if (this.engine.isOwn(owner)) {
			return Owner.THIS_INSTANCE;
		}
		return Tokens.isToken(owner) ? Owner.OTHER_INSTANCE : Owner.FOREIGN;
	}

	private KeyState inspect(String key) {
		return Answers.await(this.engine.store.inspect(key), this.engine.settings.commandTimeout(),
				(error) -> this.engine.storeTrouble(key, "The inspection", error));
	}

	@Override
	public boolean forceRelease(String key) {
		String owner = inspect(LockRequest.of(key).key()).owner();
		if (owner == null) {
			return false;
		}
		boolean released = Answers
			.await(this.engine.store.release(key, owner, null), this.engine.settings.commandTimeout(),
					(error) -> this.engine.storeTrouble(key, "The forced release", error))
			.released();
		logger
			.warn("Lock '" + key
					+ (released ? "' was released by force; its owner: "
							: "' was to be released by force, but changed hands meanwhile; its owner was: ")
					+ kind(owner));
		Hold own = this.engine.keeper.find(owner);
		if (released && own != null) {
			this.engine.lose(own, "it was released by force");
		}
		return released;
	}

	/**
	 * Shut down in order: grant nothing new, keep renewing what is held until it ends,
	 * release what is left when the time is over. Does not block.
	 * @param patience how long work in flight may take
	 * @return completed when nothing is held any more, no release is without an answer,
	 * and the store has stopped to receive wake-ups
	 */
	public CompletableFuture<@Nullable Void> shutDown(Duration patience) {
		CompletableFuture<@Nullable Void> over = new CompletableFuture<>();
		this.engine.close()
			.thenCompose((done) -> this.engine.keeper.drained())
			.thenAccept((done) -> over.complete(null));
		if (!patience.isZero()) {
			logHeld(patience);
		}
		this.engine.scheduler.schedule(() -> over.complete(null), patience.toNanos());
		// Not if it was resumed meanwhile.
		return over.thenCompose((done) -> this.engine.isClosed() ? releaseRest() : over);
	}

	private void logHeld(Duration patience) {
		List<Hold> holds = this.engine.keeper.holds();
		if (!holds.isEmpty()) {
			String some = holds.stream()
				.limit(3)
				.map((hold) -> "'" + hold.gate.key + "'")
				.collect(Collectors.joining(", "));
			int more = holds.size() - 3;
			logger.info("Waiting up to " + patience.toMillis() + " ms for the locks that are held: " + some
					+ ((more > 0) ? " and " + more + " more" : ""));
		}
	}

	/**
	 * Grant again after a shut-down, as long as this service is not closed.
	 */
	public void resume() {
		this.engine.open();
	}

	private CompletableFuture<@Nullable Void> releaseRest() {
		for (Hold hold : this.engine.keeper.holds()) {
			this.engine.lose(hold, "this instance shut down before it was released");
			this.engine.release(hold.gate.key, hold.token, hold.demand, hold.doubtful, null);
		}
		// Not on the driver's thread, which the store may have to wait for.
		return this.engine.released().thenRunAsync(this.engine.store::stop, this.engine.callbacks);
	}

	/**
	 * Shut down at once, if that was not done before, and free what this service uses,
	 * its store included. Blocks until what was held is released, for the command timeout
	 * at most.
	 */
	@Override
	public void close() {
		try {
			Answers.await(shutDown(Duration.ZERO), this.engine.settings.commandTimeout(),
					(error) -> new IllegalStateException("Not all locks could be released at shut-down", error));
		}
		catch (IllegalStateException ex) {
			logger.warn(ex.getMessage(), ex);
		}
		this.engine.store.close();
		if (this.ownScheduler != null) {
			this.ownScheduler.close();
		}
	}

	/**
	 * Whether nothing is held or waited for, and nothing is remembered of any key.
	 * @return whether this service is idle
	 */
	boolean isIdle() {
		return this.engine.isIdle();
	}

}
