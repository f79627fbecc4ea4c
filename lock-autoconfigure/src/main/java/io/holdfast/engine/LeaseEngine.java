package io.holdfast.engine;

import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

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
 * its queues, and its life: the start; the graceful shut-down, from the moment when it
 * grants nothing new until its store has stopped; and the way back.
 * {@link DefaultLockService} and {@link DefaultSemaphoreService} are its faces.
 * Asynchronous throughout; thread-safe.
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

	/** Held while the store is started or stopped. */
	private final Object storeLock = new Object();

	/** How often it was resumed: a shut-down goes no further after that. */
	private volatile int resumptions;

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
		this.reporter = new Reporter(this.queues);
		this.ownScheduler = ownScheduler;
		this.threads = threads;
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
		return this.context.sendInTime(Command.INSPECT, () -> this.context.store.inspectPermits(semaphore, 0));
	}

	/**
	 * Acquire and release a permit that no application uses, so that the first request
	 * finds connection, scripts and classes loaded. Leaves nothing in the store, and is
	 * not observed. Blocks until the store has answered, for the command timeout at most;
	 * a failure is left to the first request. Does nothing while the store has not
	 * answered before.
	 */
	public void warmUp() {
		if (!this.context.isAdmitted()) {
			return;
		}
		SemaphoreRequest request = SemaphoreRequest.of(EngineContext.WARM_UP_KEY + this.context.ensureStarted(), 1)
			.waitTime(Duration.ZERO);
		ResolvedRequest defaults = ResolvedRequest.defaults(Kind.SEMAPHORE, this.context.settings);
		Waiter waiter = this.queues.acquire(ResolvedRequest.of(request, defaults), null, LeaseContext.empty(), null,
				null);
		CompletableFuture<?> released = waiter.result().thenCompose((lease) -> lease.startRelease(true, true));
		try {
			this.context.await(released, this.context.settings.commandTimeout(),
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
		CompletableFuture<@Nullable Void> over = new CompletableFuture<>();
		int resumptionsBefore = this.resumptions;
		this.context.setClosed(true);
		closeQueues(resumptionsBefore).thenCompose((done) -> this.queues.renewer.awaitDrained())
			.thenAccept((done) -> over.complete(null));
		if (!patience.isZero()) {
			logHeld(patience);
		}
		this.context.scheduler.schedule(() -> over.complete(null), patience.toNanos());
		return over.thenCompose((done) -> isCurrent(resumptionsBefore) ? releaseRest(resumptionsBefore) : over);
	}

	/**
	 * Start, if that was not done before, or grant again after a shut-down, as long as
	 * this engine is not closed. After a shut-down this is another instance: its leases
	 * of before are lost, if they have not ended.
	 */
	public void resume() {
		synchronized (this.storeLock) {
			if (!this.context.isClosed()) {
				start();
				return;
			}
			endUnfinishedShutdown();
			this.context.renewIdentity(this.queues);
			this.resumptions++;
			// First, as later requests wait for that.
			joinFleet();
			this.context.setClosed(false);
		}
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

	// Its life

	/** Start the instance for the first time, unless that was done. */
	private void start() {
		synchronized (this.storeLock) {
			if (this.context.isStarted()) {
				return;
			}
			// If it is closed, only to refuse requests.
			this.context.renewIdentity(this.context.isClosed() ? null : this.queues);
			if (!this.context.isClosed()) {
				joinFleet();
			}
		}
	}

	private void joinFleet() {
		Membership membership = this.context.membership();
		if (membership != null) {
			membership.join();
		}
	}

	private CompletableFuture<@Nullable Void> leaveFleet() {
		Membership membership = this.context.membership();
		return (membership != null) ? membership.leave() : CompletableFuture.completedFuture(null);
	}

	/** Return whether a shut-down is still to go on, as it was not resumed since. */
	private boolean isCurrent(int resumptionsBefore) {
		return this.context.isClosed() && this.resumptions == resumptionsBefore;
	}

	/**
	 * Tell waiters that nothing new is granted.
	 * @param resumptionsBefore how often it was resumed when the shut-down began
	 * @return completed when every queue knows
	 */
	private CompletableFuture<@Nullable Void> closeQueues(int resumptionsBefore) {
		return inEvents(this.queues.all(), (queue) -> queue::execute, (queue) -> {
			if (isCurrent(resumptionsBefore)) {
				queue.endWaits(this.context.instanceId());
			}
		});
	}

	private static <T> CompletableFuture<@Nullable Void> inEvents(Stream<T> subjects, Function<T, Executor> executor,
			Consumer<T> event) {
		return CompletableFuture.allOf(subjects.map((subject) -> {
			CompletableFuture<@Nullable Void> done = new CompletableFuture<>();
			executor.apply(subject).execute(() -> {
				// Its exceptions are for the executor, and must not keep the shut-down.
				try {
					event.accept(subject);
				}
				finally {
					done.complete(null);
				}
			});
			return done;
		}).toArray(CompletableFuture[]::new)).thenApply((done) -> null);
	}

	private void logHeld(Duration patience) {
		List<Hold> holds = this.queues.renewer.holds();
		if (!holds.isEmpty()) {
			String some = holds.stream().limit(3).map(Hold::description).collect(Collectors.joining(", "));
			int more = holds.size() - 3;
			logger.info("Waiting up to " + patience.toMillis() + " ms for leases that are held: " + some
					+ ((more > 0) ? " and " + more + " more" : ""));
		}
	}

	private CompletableFuture<@Nullable Void> releaseRest(int resumptionsBefore) {
		return releaseHeld()
			// The others are just giving up.
			.thenCompose((done) -> closeQueues(resumptionsBefore))
			.thenCompose((done) -> isCurrent(resumptionsBefore) ? stopAfterReleases(resumptionsBefore)
					: CompletableFuture.completedFuture(null));
	}

	/**
	 * End all holds.
	 * @return completed when the commands for that are on their way
	 */
	private CompletableFuture<@Nullable Void> releaseHeld() {
		return inEvents(this.queues.renewer.holds().stream(), (hold) -> hold.queue::execute, this::endHold);
	}

	/**
	 * End a hold. In an event, as a release by its user must not come between the loss,
	 * of which that is told, and the command that keeps others out.
	 */
	private void endHold(Hold hold) {
		List<String> token = List.of(hold.token);
		this.queues.releases.beginEnding(token);
		try {
			long now = this.context.scheduler.nanoTime();
			if (hold.isForCode()) {
				leaveHold(hold, now + hold.lastsNanos(now), now);
			}
			else {
				releaseHold(hold, Math.max(hold.minHoldLeft(now), hold.lossMargin()));
			}
		}
		finally {
			this.queues.releases.finishEnding(token);
		}
	}

	private void releaseHold(Hold hold, long kept) {
		if (!this.queues.renewer.lose(hold, "this instance shut down before it was released")) {
			// Just released by its user, which gets the store's answer to that.
			return;
		}
		hold.endByShutDown();
		if (kept > 0) {
			this.queues.releases.retain(hold, kept, new CompletableFuture<>());
		}
		else {
			this.queues.releases.release(hold);
		}
	}

	/**
	 * End a hold that code runs under, but leave its end in the store to its lease time.
	 * It is not released with the code either: if the loss has cancelled a future or a
	 * chain, work that it began may go on.
	 */
	private void leaveHold(Hold hold, long until, long now) {
		if (this.queues.renewer.lose(hold, "this instance shut down before the code under it had ended",
				"Others are kept out for " + TimeUnit.NANOSECONDS.toMillis(until - now) + " ms from now")) {
			hold.endByShutDown();
			this.queues.releases.leave(hold, until);
		}
	}

	private CompletableFuture<@Nullable Void> stopAfterReleases(int resumptionsBefore) {
		// Leases granted since then.
		return releaseHeld()
			.thenCompose((done) -> CompletableFuture.allOf(this.queues.releases.awaitAnswers(), leaveFleet()))
			// Not on the driver's thread, which the store may have to wait for.
			.thenRunAsync(() -> stopStore(resumptionsBefore), this.context::execute);
	}

	/** Stop the store, unless it is to go on listening. */
	private void stopStore(int resumptionsBefore) {
		synchronized (this.storeLock) {
			if (isCurrent(resumptionsBefore)) {
				this.context.store.stop();
			}
		}
	}

	/**
	 * End the leases that the shut-down has not ended yet. Copies of this process may go
	 * on as this one does, so no token may be used any more.
	 */
	private void endUnfinishedShutdown() {
		releaseHeld();
		if (this.context.isStarted()) {
			String before = this.context.instanceId();
			this.queues.all().forEach((queue) -> queue.execute(() -> queue.endWaits(before)));
		}
		leaveFleet();
		this.context.store.stop();
	}

}
