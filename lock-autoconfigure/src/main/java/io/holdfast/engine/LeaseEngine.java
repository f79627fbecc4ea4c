package io.holdfast.engine;

import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.Supplier;

import io.holdfast.HoldfastException;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostEvent;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.async.DaemonThreads;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.LeaseStore.PermitState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreDiagnostic;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * One <em>instance</em> in the sense of the protocol, with an id of its own: its context,
 * its queues and its life. {@link DefaultLockService} and {@link DefaultSemaphoreService}
 * are its faces. Asynchronous throughout; thread-safe.
 *
 * @since 0.1.0
 */
public final class LeaseEngine implements AutoCloseable {

	private static final Log logger = LogFactory.getLog(LeaseEngine.class);

	final EngineContext context;

	final ResourceQueues queues;

	private final Reporter reporter;

	private final @Nullable ThreadScheduler ownScheduler;

	private final DaemonThreads threads;

	private final InstanceLifecycle lifecycle;

	private volatile @Nullable BiConsumer<LockLease, LockRequest> fence;

	/**
	 * Create an engine with a scheduler of its own. It is started by {@link #resume()} or
	 * by its first use; before that, it uses neither its store nor a thread.
	 * @param store where the leases are kept; closed with this engine
	 * @param settings defaults and times
	 */
	public LeaseEngine(LeaseStore store, EngineSettings settings) {
		this(store, settings, new DaemonThreads());
	}

	private LeaseEngine(LeaseStore store, EngineSettings settings, DaemonThreads threads) {
		this(store, settings, threads, new ThreadScheduler(threads));
	}

	private LeaseEngine(LeaseStore store, EngineSettings settings, DaemonThreads threads, ThreadScheduler scheduler) {
		this(store, settings, threads, scheduler, scheduler, scheduler.callbacks(), scheduler.code(),
				LeaseEngine::newInstanceId, Math::random);
	}

	/**
	 * Create an engine that runs on the caller's clock, threads and randomness.
	 * @param store where the leases are kept; closed with this engine
	 * @param settings defaults and times
	 * @param scheduler the clock
	 * @param callbacks runs users' code: listeners, continuations
	 * @param instanceIds gives 32 hexadecimal digits that no other instance has, others
	 * at each start
	 * @param random gives numbers from 0 to 1, for jitter
	 */
	public LeaseEngine(LeaseStore store, EngineSettings settings, Scheduler scheduler, Executor callbacks,
			Supplier<String> instanceIds, DoubleSupplier random) {
		this(store, settings, new DaemonThreads(), scheduler, null, callbacks, callbacks, instanceIds, random);
	}

	private LeaseEngine(LeaseStore store, EngineSettings settings, DaemonThreads threads, Scheduler scheduler,
			@Nullable ThreadScheduler ownScheduler, Executor callbacks, Executor code, Supplier<String> instanceIds,
			DoubleSupplier random) {
		this.context = new EngineContext(store, settings, scheduler, callbacks, code, random, instanceIds, this::start);
		this.queues = new ResourceQueues(this);
		this.reporter = new Reporter(this.context, this.queues.renewer, this.queues);
		this.lifecycle = new InstanceLifecycle(this.queues);
		this.ownScheduler = ownScheduler;
		this.threads = threads;
	}

	private void start() {
		this.lifecycle.startInstance();
	}

	private static String newInstanceId() {
		byte[] bytes = new byte[16];
		new SecureRandom().nextBytes(bytes);
		return HexFormat.of().formatHex(bytes);
	}

	/**
	 * Set the context class loader of the threads of this engine and its store. It has no
	 * effect on threads of a caller's scheduler.
	 * @param classLoader that of the application; by default that of Holdfast's classes
	 */
	public void setClassLoader(@Nullable ClassLoader classLoader) {
		this.threads.setClassLoader(classLoader);
		this.context.store.setClassLoader(classLoader);
	}

	/**
	 * Tell each loss of a lease to a listener, on a thread that may block.
	 * @param listener the listener, which replaces the one before
	 */
	public void onLost(Consumer<LeaseLostEvent> listener) {
		this.queues.renewer.setListener(listener);
	}

	/**
	 * Set the fence of this engine, which databases keep.
	 * @param namePrefix the beginning of the names of keys there, which no other engine
	 * has
	 * @param fence raises the token of a fenced lease before its caller has it, on the
	 * caller's thread. Its exception is the caller's, and the lease is released
	 */
	public void setFence(String namePrefix, BiConsumer<LockLease, LockRequest> fence) {
		this.context.setFencePrefix(namePrefix);
		this.fence = fence;
	}

	/** Return {@code null} if no database keeps a fence. */
	@Nullable BiConsumer<LockLease, LockRequest> fence() {
		return this.fence;
	}

	/**
	 * Add an observer of this engine's events from now on.
	 * @param observer the observer
	 */
	public void observe(EngineObserver observer) {
		this.context.observers.add(observer);
	}

	/**
	 * Return how this engine is now, without asking the store. Events at the same time
	 * may be counted or not.
	 * @return its condition
	 */
	public EngineStatus condition() {
		List<Hold> holds = this.queues.renewer.holds();
		return new EngineStatus(this.context.store.isPolling(), this.context.store.isListening(),
				this.context.store.whyNotListening(), this.context.refusal(), holds.size(), this.queues.waiting(),
				(int) holds.stream().filter((hold) -> hold.isRenewalFailing()).count());
	}

	/**
	 * Return whether the store is connected, as far as that is known. Asks no store.
	 * @return whether commands are sent at once
	 */
	public boolean isReached() {
		return this.context.isReached();
	}

	/**
	 * Return where the leases are kept, in words. Asks no store.
	 * @return the place, such as {@code Redis at localhost:6379}
	 */
	public String place() {
		return this.context.store.place();
	}

	/**
	 * Look for dangers to leases in the store, and whether it writes: that is a part of
	 * the {@link #condition() condition} then. Does not block.
	 * @return the findings; fails with {@link StoreCommandException} if the store cannot
	 * be asked now, and stays open for as long as it is silent
	 */
	public CompletableFuture<List<StoreDiagnostic>> examine() {
		CompletableFuture<?> written = this.context.tryWrite();
		return this.context.send(Command.INSPECT, this.context.store::examine)
			.thenCombine(written, (findings, known) -> findings);
	}

	/**
	 * Ask the store for the permits of a semaphore. Does not block.
	 * @param key the semaphore
	 * @return the permits; fails if the store cannot be asked
	 */
	public CompletableFuture<PermitState> inspectPermits(String key) {
		Resource semaphore = new Resource(Kind.SEMAPHORE, key);
		return this.context.send(Command.INSPECT, () -> this.context.store.inspectPermits(semaphore, 0));
	}

	/**
	 * Acquire and release a permit that no application uses, so that the first request
	 * finds connection, scripts and classes loaded. Leaves nothing in the store, and is
	 * not observed. Blocks until the store has answered, for 250 ms at most; a failure is
	 * left to the first request. Does nothing while the store has not answered before.
	 */
	public void warmUp() {
		if (!this.context.isAdmitted()) {
			return;
		}
		SemaphoreRequest request = SemaphoreRequest.of(EngineContext.WARM_UP_KEY + this.context.ensureStarted(), 1)
			.waitTime(Duration.ZERO);
		Waiter waiter = this.queues.acquire(ResolvedRequest.of(request, this.context.settings), null,
				LeaseContext.empty(), null, null);
		CompletableFuture<?> released = waiter.result().thenCompose((lease) -> lease.startRelease(true));
		try {
			this.context.await(released, this.context.releasePatience(),
					(error) -> EngineExceptions.storeTrouble("The warm-up", error));
		}
		catch (HoldfastException ex) {
			logger.debug("The warm-up failed", ex);
		}
	}

	/**
	 * Shut down in order: grant nothing new, and keep renewing leases until they end.
	 * When the patience is over, leave the leases of running code to their lease times,
	 * and release the others. Does not block.
	 * @param patience how long work in flight may take
	 * @return completed when nothing is held any more, no release is without an answer,
	 * and the store has stopped to receive wake-ups
	 */
	public CompletableFuture<@Nullable Void> shutDown(Duration patience) {
		return this.lifecycle.shutDown(patience);
	}

	/**
	 * Start, if that was not done before, or grant again after a shut-down, as long as
	 * this engine is not closed. After a shut-down this is another instance: its leases
	 * of before are lost, if they have not ended.
	 */
	public void resume() {
		this.lifecycle.resume();
	}

	/**
	 * Shut down at once, if that was not done before, and free the resources of this
	 * engine, its store included. Blocks until the leases are released, for the command
	 * timeout at most.
	 */
	@Override
	public void close() {
		this.queues.releases.beginClosing();
		try {
			this.context.await(shutDown(Duration.ZERO), this.context.settings.commandTimeout(),
					(error) -> new IllegalStateException("Not everything could be released at shut-down", error));
		}
		catch (IllegalStateException ex) {
			logger.warn(ex.getMessage(), ex);
		}
		this.context.store.close();
		// Their leases end in the store by themselves.
		this.queues.releases.clear();
		if (this.ownScheduler != null) {
			this.context.observers.awaitIdle(this.context.settings.commandTimeout());
			this.ownScheduler.close();
		}
	}

	/**
	 * Return whether nothing is held or waited for, and nothing is remembered of any key.
	 * @return whether this engine is idle
	 */
	boolean isIdle() {
		return this.queues.isEmpty() && this.queues.releases.isEmpty() && this.queues.renewer.holds().isEmpty();
	}

	/**
	 * Return a future that completes once the events that have begun by now are over, and
	 * observers are told of them or a command timeout has passed.
	 */
	public CompletableFuture<?> afterEvents() {
		return this.queues.waiters()
			.thenRunAsync(() -> this.context.observers.awaitIdle(this.context.settings.commandTimeout()),
					this.context::execute);
	}

	/**
	 * Return the directory of the instances that share the store.
	 * @param creator creates it, unless there is one
	 */
	public synchronized InstanceDirectory directory(Function<LeaseEngine, InstanceDirectory> creator) {
		InstanceDirectory known = this.context.directory();
		if (known == null) {
			known = creator.apply(this);
			this.context.setDirectory(known);
		}
		return known;
	}

	/** Return the shared parts of this engine, for the view of the fleet. */
	public EngineContext context() {
		return this.context;
	}

	/** Return the reporter of the holds and waits of this instance. */
	public Reporter reporter() {
		return this.reporter;
	}

}
