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
import io.holdfast.KeyNamespace;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostEvent;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.async.DaemonThreads;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreDiagnostic;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Engine of leases: one <em>instance</em> of the protocol, with its own id, context and
 * queues. Implements the life cycle: start, graceful shutdown, and resumption.
 * {@link DefaultLockService} and {@link DefaultSemaphoreService} are its services.
 * Asynchronous and thread-safe.
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

	/** Lock of starts and stops of the store. */
	private final Object storeLock = new Object();

	/** Number of resumptions. A shutdown stops when it sees a new resumption. */
	private volatile int resumptions;

	private volatile @Nullable BiConsumer<LockLease, LockRequest> fence;

	/** Namespace of requests that have none, or {@code null}. */
	volatile @Nullable KeyNamespace keyNamespace;

	private volatile @Nullable InstanceDirectory directory;

	/**
	 * Create an engine with its own scheduler. The engine starts with {@link #resume()}
	 * or its first use. Before, it uses neither the store nor threads.
	 * @param store the store of the leases; closed with this engine
	 * @param settings the defaults and timeouts
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
	 * Create an engine that uses the caller's clock, threads and random numbers.
	 * @param store the store of the leases; closed with this engine
	 * @param settings the defaults and timeouts
	 * @param scheduler the clock
	 * @param callbacks runs users' listeners and continuations
	 * @param instanceIds supplies 32 hexadecimal digits that are unique among all
	 * instances and starts
	 * @param random supplies numbers from 0 to 1, for jitter
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
	 * Set the context class loader of the threads of this engine and its store. Has no
	 * effect on threads of a caller's scheduler.
	 * @param classLoader the application's class loader; {@code null}, the default, for
	 * the class loader of Holdfast's classes
	 */
	public void setClassLoader(@Nullable ClassLoader classLoader) {
		this.threads.setClassLoader(classLoader);
		this.context.store.setClassLoader(classLoader);
	}

	/**
	 * Set the namespace of requests that have none, for all services of this engine that
	 * have none of their own.
	 * @param keyNamespace the namespace
	 */
	public void setKeyNamespace(KeyNamespace keyNamespace) {
		this.keyNamespace = keyNamespace;
	}

	/**
	 * Set the listener of lost leases. It is called on a thread that may block.
	 * @param listener the listener, which replaces the previous one
	 */
	public void onLost(Consumer<LeaseLostEvent> listener) {
		this.queues.renewer.setListener(listener);
	}

	/**
	 * Set the fence of this engine in databases.
	 * @param namePrefix the prefix of the names of keys in fence tables, different for
	 * each engine
	 * @param fence raises the token of a fenced lease in the databases, on the caller's
	 * thread, before the caller gets the lease. If it throws an exception, the lease is
	 * released and the caller gets the exception
	 */
	public void setFence(String namePrefix, BiConsumer<LockLease, LockRequest> fence) {
		this.context.setFencePrefix(namePrefix);
		this.fence = fence;
	}

	/** Return the fence, or {@code null} if no database has one. */
	@Nullable BiConsumer<LockLease, LockRequest> fence() {
		return this.fence;
	}

	/**
	 * Add an observer of all events from now on.
	 * @param observer the observer
	 */
	public void observe(EngineObserver observer) {
		this.context.observers.add(observer);
	}

	/**
	 * Return the status of this engine, without asking the store. Concurrent events may
	 * or may not be counted.
	 * @return the status
	 */
	public EngineStatus status() {
		List<Hold> holds = this.queues.renewer.holds();
		return new EngineStatus(this.context.store.isPolling(), this.context.store.isListening(),
				this.context.store.whyNotListening(), this.context.refusal(), holds.size(), this.queues.waiting(),
				(int) holds.stream().filter((hold) -> hold.isRenewalFailing()).count());
	}

	/**
	 * Return a description of the store. Does not block.
	 * @return the description, such as {@code Redis at localhost:6379}
	 */
	public String place() {
		return this.context.store.place();
	}

	/**
	 * Check the store for settings that endanger leases, and whether it accepts writes.
	 * The result of the check of writes becomes a part of the {@link #status() status}.
	 * Does not block.
	 * @return a future of the findings. It fails with {@link StoreCommandException} if
	 * the store cannot be asked, or does not answer within the timeout of the driver
	 */
	public CompletableFuture<List<StoreDiagnostic>> examine() {
		CompletableFuture<?> written = this.context.tryWrite();
		return this.context.send(Command.INSPECT, this.context.store::examine)
			.thenCombine(written, (findings, known) -> findings);
	}

	/**
	 * Read the permits of a semaphore from the store. Does not block.
	 * @param key the key of the semaphore
	 * @return a future of the permits, which fails if the store cannot be asked
	 */
	public CompletableFuture<Standing> inspectPermits(String key) {
		return this.context.inspect(new Resource(Kind.SEMAPHORE, key), 0, 0);
	}

	/**
	 * Acquire and release an unused permit, so that connection, scripts and classes are
	 * ready for the first request. Leaves nothing in the store, and notifies no
	 * observers. Blocks until the store answers, for the command timeout at most. Ignores
	 * failures. Does nothing if this instance is not admitted to the fleet yet.
	 */
	public void warmUp() {
		if (!this.context.isAdmitted()) {
			return;
		}
		SemaphoreRequest request = SemaphoreRequest.of(EngineContext.WARM_UP_KEY + this.context.ensureStarted(), 1)
			.waitTime(Duration.ZERO);
		ResolvedRequest defaults = ResolvedRequest.defaults(Kind.SEMAPHORE, this.context.settings);
		Waiter waiter = this.queues.acquire(ResolvedRequest.of(request, defaults).get(0), null, LeaseContext.empty(),
				null, null);
		CompletableFuture<?> released = waiter.result.thenCompose((lease) -> lease.startRelease(true, true));
		try {
			this.context.await(released, this.context.settings.commandTimeout(),
					(error) -> EngineExceptions.storeTrouble("The warm-up", error));
		}
		catch (HoldfastException ex) {
			logger.debug("The warm-up failed", ex);
		}
	}

	/**
	 * Shut down gracefully: refuse new requests, and keep renewing held leases until they
	 * end. After the patience, release the remaining leases, but let the leases of
	 * running code expire in the store. Does not block.
	 * @param patience the time for work in flight
	 * @return a future that is completed when no lease is held, all releases are
	 * answered, and the store has stopped receiving notifications
	 */
	public CompletableFuture<@Nullable Void> shutDown(Duration patience) {
		CompletableFuture<@Nullable Void> waitEnd = new CompletableFuture<>();
		int resumptionsBefore = this.resumptions;
		this.context.setClosed(true);
		closeQueues(resumptionsBefore).thenCompose((done) -> this.queues.renewer.awaitDrained())
			.thenAccept((done) -> waitEnd.complete(null));
		List<Hold> holds = this.queues.renewer.holds();
		// Code that closes its own context would wait for itself.
		boolean waits = !patience.isZero() && (holds.isEmpty()
				|| !holds.stream().allMatch((hold) -> hold.isForCode() && hold.thread == Thread.currentThread()));
		if (waits) {
			logHeld(holds, patience);
		}
		this.context.scheduler.schedule(() -> waitEnd.complete(null), waits ? patience.toNanos() : 0);
		return waitEnd.thenCompose((done) -> isCurrent(resumptionsBefore) ? releaseRest(resumptionsBefore) : waitEnd);
	}

	/**
	 * Start this engine, or accept requests again after a shutdown. Must not be called
	 * after {@link #close()}. After a shutdown the engine is a new instance: leases from
	 * before the shutdown that have not ended are lost.
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
			// Join before accepting requests, which wait for the admission.
			joinFleet();
			this.context.setClosed(false);
		}
	}

	/**
	 * Shut down at once, and close the store and all other resources of this engine.
	 * Blocks until the leases are released and the observers are notified, for the
	 * command timeout each at most, and until the connections are closed.
	 */
	@Override
	public void close() {
		this.queues.releases.beginClosing();
		try {
			this.context.await(shutDown(Duration.ZERO), this.context.settings.commandTimeout(),
					(error) -> new IllegalStateException("Not everything could be released at shut-down; the rest ends "
							+ "with its lease time: " + EngineExceptions.text(error), error));
		}
		catch (IllegalStateException ex) {
			logger.warn(ex.getMessage());
		}
		this.context.store.close();
		// The leases of these tokens expire in the store.
		this.queues.releases.clear();
		if (this.ownScheduler != null) {
			this.context.observers.awaitIdle(this.context.settings.commandTimeout());
			this.ownScheduler.close();
		}
	}

	/**
	 * Return whether there are no holds, no waiters and no retained tokens.
	 * @return whether this engine is idle
	 */
	boolean isIdle() {
		return this.queues.isEmpty() && this.queues.releases.isEmpty() && this.queues.renewer.holds().isEmpty();
	}

	/**
	 * Return a future that is completed when all current events are over and the
	 * observers are notified of them. Waits for the observers for a command timeout at
	 * most.
	 */
	public CompletableFuture<?> afterEvents() {
		return this.queues.waiters()
			.thenRunAsync(() -> this.context.observers.awaitIdle(this.context.settings.commandTimeout()),
					this.context.callbacks);
	}

	/**
	 * Return the directory of the instances that share the store.
	 * @param creator creates the directory if there is none yet
	 */
	public synchronized InstanceDirectory directory(Function<LeaseEngine, InstanceDirectory> creator) {
		InstanceDirectory known = this.directory;
		if (known == null) {
			known = creator.apply(this);
			this.directory = known;
		}
		return known;
	}

	/** Return the directory of instances, or {@code null}. */
	@Nullable InstanceDirectory directory() {
		return this.directory;
	}

	/** Return the context of this engine. */
	public EngineContext context() {
		return this.context;
	}

	/** Return the reporter of the holds and waits of this instance. */
	public Reporter reporter() {
		return this.reporter;
	}

	// Life cycle

	/** Start this instance if it was never started. */
	private void start() {
		synchronized (this.storeLock) {
			if (this.context.isStarted()) {
				return;
			}
			// A closed engine only needs an id to refuse requests.
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

	/** Return whether a shutdown must go on, because the engine was not resumed since. */
	private boolean isCurrent(int resumptionsBefore) {
		return this.context.isClosed() && this.resumptions == resumptionsBefore;
	}

	/**
	 * End all waits because of the shutdown.
	 * @param resumptionsBefore the number of resumptions when the shutdown began
	 * @return a future that is completed when all queues have ended their waits
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
		return CompletableFuture
			.allOf(subjects
				.map((subject) -> CompletableFuture.runAsync(() -> event.accept(subject), executor.apply(subject)))
				.toArray(CompletableFuture[]::new))
			.exceptionally((error) -> {
				// Must not stop the shutdown.
				logger.error("An event of the shutdown failed", error);
				return null;
			});
	}

	private static void logHeld(List<Hold> holds, Duration patience) {
		if (!holds.isEmpty()) {
			String shown = holds.stream().limit(3).map(Hold::description).collect(Collectors.joining(", "));
			int moreCount = holds.size() - 3;
			logger.info("Waiting up to " + patience.toMillis() + " ms for leases that are held: " + shown
					+ ((moreCount > 0) ? " and " + moreCount + " more" : ""));
		}
	}

	private CompletableFuture<@Nullable Void> releaseRest(int resumptionsBefore) {
		return releaseHeld()
			// End waits that were added in between.
			.thenCompose((done) -> closeQueues(resumptionsBefore))
			.thenCompose((done) -> isCurrent(resumptionsBefore) ? stopAfterReleases(resumptionsBefore)
					: CompletableFuture.completedFuture(null));
	}

	/**
	 * End all holds.
	 * @return a future that is completed when the commands are sent
	 */
	private CompletableFuture<@Nullable Void> releaseHeld() {
		return inEvents(this.queues.renewer.holds().stream(), (hold) -> hold.queue::execute, this::endHold);
	}

	/**
	 * End a hold. Runs in an event of the queue: the user's release must not come between
	 * the loss, which is reported to the user, and the command that keeps other owners
	 * out.
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

	private void releaseHold(Hold hold, long keptNanos) {
		if (!this.queues.renewer.lose(hold, "this instance shut down before it was released")) {
			// The user has just released the lease, and gets the store's answer.
			return;
		}
		hold.endedByShutDown = true;
		if (keptNanos > 0) {
			this.queues.releases.retain(hold, keptNanos, new CompletableFuture<>());
		}
		else {
			this.queues.releases.release(hold);
		}
	}

	/**
	 * End a hold of running code, but let its lease expire in the store. The end of the
	 * code does not release the lease either: if the loss has cancelled a future or a
	 * chain, work that was begun by it may go on.
	 */
	private void leaveHold(Hold hold, long until, long now) {
		if (this.queues.renewer.lose(hold, "this instance shut down before the code under it had ended",
				"Others are kept out for " + TimeUnit.NANOSECONDS.toMillis(until - now) + " ms from now")) {
			hold.endedByShutDown = true;
			this.queues.releases.letExpire(hold, until);
		}
	}

	private CompletableFuture<@Nullable Void> stopAfterReleases(int resumptionsBefore) {
		// Once more, for leases that were granted in between.
		return releaseHeld()
			.thenCompose((done) -> CompletableFuture.allOf(this.queues.releases.awaitAnswers(), leaveFleet()))
			// Not on the driver's thread: stopping the store may wait for it.
			.thenRunAsync(() -> stopStore(resumptionsBefore), this.context.callbacks);
	}

	/** Stop the store, unless the engine was resumed. */
	private void stopStore(int resumptionsBefore) {
		synchronized (this.storeLock) {
			if (isCurrent(resumptionsBefore)) {
				this.context.store.stop();
			}
		}
	}

	/**
	 * End the leases that the shutdown has not ended yet. This process may be one of
	 * several copies that resume, so that no old token may be used any more.
	 */
	private void endUnfinishedShutdown() {
		releaseHeld();
		if (this.context.isStarted()) {
			String formerId = this.context.instanceId();
			this.queues.all().forEach((queue) -> queue.execute(() -> queue.endWaits(formerId)));
		}
		leaveFleet();
		this.context.store.stop();
	}

}
