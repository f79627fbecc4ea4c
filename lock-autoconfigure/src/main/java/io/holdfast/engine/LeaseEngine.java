package io.holdfast.engine;

import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostEvent;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.LeaseStore.Ask;
import io.holdfast.engine.LeaseStore.PermitState;
import io.holdfast.engine.Resource.Kind;

/**
 * One <em>instance</em> in the sense of the protocol, with an id of its own: what its
 * gates share, such as the store, the clock and the keeper. {@link DefaultLockService}
 * and {@link DefaultSemaphoreService} are its faces. Asynchronous throughout;
 * thread-safe.
 */
public final class LeaseEngine implements AutoCloseable, ObservedEngine {

	private static final Log logger = LogFactory.getLog(LeaseEngine.class);

	final EngineContext context;

	/**
	 * How long to wait for a release, which answers for itself within the command
	 * timeout: a backstop.
	 */
	final Duration releasePatience;

	final HoldLosses losses;

	final LeaseKeeper keeper;

	/** What stands in the store for this instance, by token. */
	final Map<String, Attempt> contenders = new ConcurrentHashMap<>();

	/** How many more wait behind them. */
	final AtomicInteger queued = new AtomicInteger();

	/** Each comes and goes with those who need it. */
	final Map<Resource, Gate> gates = new ConcurrentHashMap<>();

	final Releases releases;

	private final Supplier<String> instanceIds;

	private final LeaseStore.WakeUps wakeUps;

	private final Fleet fleet;

	private final @Nullable ThreadScheduler ownScheduler;

	private final ShutDown shutDown;

	/** The number of the last request. */
	final AtomicLong tokens = new AtomicLong();

	/**
	 * Create an engine with a scheduler of its own. It is started by {@link #resume()} or
	 * by its first use; before that, it uses neither its store nor a thread.
	 * @param store where the leases are kept; closed with this engine
	 * @param settings defaults and times
	 */
	public LeaseEngine(LeaseStore store, EngineSettings settings) {
		this(store, settings, new ThreadScheduler());
	}

	private LeaseEngine(LeaseStore store, EngineSettings settings, ThreadScheduler scheduler) {
		this(store, settings, scheduler, scheduler, scheduler.callbacks(), LeaseEngine::newInstanceId,
				() -> ThreadLocalRandom.current().nextDouble());
	}

	/**
	 * Create an engine that runs on the caller's clock, threads and randomness.
	 * @param store where the leases are kept; closed with this engine
	 * @param settings defaults and times
	 * @param scheduler the clock
	 * @param callbacks runs what belongs to users: listeners, continuations
	 * @param instanceIds gives 32 hexadecimal digits that no other instance has, others
	 * at each start
	 * @param random gives numbers from 0 to 1, for jitter
	 */
	public LeaseEngine(LeaseStore store, EngineSettings settings, Scheduler scheduler, Executor callbacks,
			Supplier<String> instanceIds, DoubleSupplier random) {
		this(store, settings, scheduler, null, callbacks, instanceIds, random);
	}

	private LeaseEngine(LeaseStore store, EngineSettings settings, Scheduler scheduler,
			@Nullable ThreadScheduler ownScheduler, Executor callbacks, Supplier<String> instanceIds,
			DoubleSupplier random) {
		this.context = new EngineContext(store, settings, scheduler, callbacks, random, this::start);
		this.losses = new HoldLosses(this.context);
		this.keeper = new LeaseKeeper(this.context, this.losses);
		// In this order: a grant makes a hold of a contender.
		this.releases = new Releases(this.context, this.losses,
				(token) -> this.contenders.containsKey(token) || this.keeper.find(token) != null);
		this.wakeUps = new WakeUpDispatch(this);
		this.shutDown = new ShutDown(this);
		this.ownScheduler = ownScheduler;
		this.releasePatience = settings.commandTimeout().plusSeconds(1);
		this.instanceIds = instanceIds;
		this.fleet = new Fleet(this.context, new Reporter(this.context, this.keeper, this::waiters));
	}

	private void start() {
		this.shutDown.begin();
	}

	/**
	 * Become another instance, by a new id: the process may be a copy of another one.
	 * @param listening whether the store is to tell from now on what others do for this
	 * instance, or want of it
	 */
	void renewIdentity(boolean listening) {
		String id = this.instanceIds.get();
		if (listening) {
			this.context.store.start(id, this.wakeUps);
		}
		this.context.identify(id);
	}

	private static String newInstanceId() {
		byte[] bytes = new byte[16];
		new SecureRandom().nextBytes(bytes);
		return HexFormat.of().formatHex(bytes);
	}

	/**
	 * Have each loss of a lease told to somebody, on a thread that may block.
	 * @param listener who is told, in place of who was told before
	 */
	public void onLost(Consumer<LeaseLostEvent> listener) {
		this.losses.onLost(listener);
	}

	/**
	 * Have somebody told what happens in this engine from now on, besides those who are.
	 * @param observer who is told
	 */
	public void observe(EngineObserver observer) {
		this.context.observers.add(observer);
	}

	/**
	 * How this engine is now. Asks nobody. What happens at the same time may be counted
	 * or not.
	 * @return its condition
	 */
	public EngineCondition condition() {
		List<Hold> holds = this.keeper.holds();
		return new EngineCondition(this.context.store.isPolling(), this.context.store.isListening(),
				this.context.store.whyNotListening(), holds.size(), waiting(),
				(int) holds.stream().filter(Hold::isRenewalFailing).count());
	}

	/** How many requests are under way. */
	int waiting() {
		return this.queued.get() + this.contenders.size();
	}

	/**
	 * Look for what may harm leases in the store. Does not block.
	 * @return what was found; fails with {@link StoreFailure} if the store cannot be
	 * asked now, and stays open for as long as it is silent
	 */
	public CompletableFuture<List<Finding>> examine() {
		return this.context.send(Command.INSPECT, this.context.store::examine);
	}

	@Override
	public CompletableFuture<PermitState> inspectPermits(String key) {
		Resource semaphore = new Resource(Kind.SEMAPHORE, key);
		return this.context.send(Command.INSPECT, () -> this.context.store.inspectPermits(semaphore, 0));
	}

	Acquisition acquire(List<Demand> demands, @Nullable Thread owner, LeaseContext context) {
		RequestWatch watch = this.context.observers.watch(this, demands);
		return (demands.size() == 1) ? acquire(demands.get(0), owner, context, null, watch)
				: new JointAcquisition(this, demands, owner, context, watch).start();
	}

	Waiter acquire(Demand demand, @Nullable Thread owner, LeaseContext context, @Nullable JointAcquisition whole,
			@Nullable RequestWatch watch) {
		Gate gate = this.gates.compute(demand.resource(), (resource, existing) -> {
			Gate entered = (existing != null) ? existing : Gate.of(this, resource);
			entered.users++;
			return entered;
		});
		String token = Tokens.of(this.context.instanceId(), this.tokens.incrementAndGet(), isToBeTold(demand));
		Waiter waiter = new Waiter(this, gate, token, demand, owner, context, whole, watch);
		if (whole != null) {
			whole.waitFor(waiter);
		}
		if (demand.resource().kind() == Kind.READ_WRITE && !this.context.settings.keepWarm().isZero()) {
			letGo(demand.resource().key());
		}
		if (demand.reentrant() && isHeldOtherwise(waiter)) {
			gate.execute(() -> gate.fail(waiter, waiter.notAcquired(Reason.SELF_BLOCKED)));
		}
		else {
			gate.execute(() -> {
				// A part may be given up before it comes.
				if (waiter.isWaiting()) {
					gate.arrive(waiter);
				}
			});
		}
		return waiter;
	}

	/** Whether what is granted may stay here as long as nobody elsewhere wants it. */
	private boolean isToBeTold(Demand demand) {
		return (!this.context.settings.keepWarm().isZero() || this.context.settings.lockHandOver().isOn())
				&& demand.resource().kind() == Kind.LOCK && demand.renewal();
	}

	/** What is kept of a key is in the way of whoever asks for it in another way. */
	private void letGo(String key) {
		Gate gate = this.gates.get(new Resource(Kind.LOCK, key));
		if (gate != null) {
			gate.execute(gate::letGo);
		}
	}

	/** Whether whoever asks locks the key in the way that excludes the one asked for. */
	private boolean isHeldOtherwise(Waiter waiter) {
		Resource resource = waiter.demand.resource();
		Kind otherKind = switch (resource.kind()) {
			case LOCK -> Kind.READ_WRITE;
			case READ_WRITE -> Kind.LOCK;
			case SEMAPHORE -> null;
		};
		if (otherKind == null) {
			return false;
		}
		Resource other = new Resource(otherKind, resource.key());
		Gate gate = this.gates.get(other);
		return gate != null && waiter.owner != null && gate.isHeldBy(waiter.owner) || waiter.isUnder(other);
	}

	void leave(Gate gate) {
		this.gates.computeIfPresent(gate.resource, (k, existing) -> (--existing.users == 0) ? null : existing);
	}

	/**
	 * Give back some of the permits of a hold. What is not confirmed is sent again for as
	 * long as they are held; the store finds the token whatever it has.
	 */
	void shrink(Hold hold, int most, CompletableFuture<Boolean> answer) {
		if (hold.leases == 0) {
			// Another thread has given back all of it, with which others may go on.
			answer.complete(true);
			return;
		}
		Ask before = hold.ask(this.context.now());
		// Another thread may have given back more, though it began later.
		int kept = Math.min(most, hold.permits);
		hold.permits = kept;
		if (hold.watch != null) {
			RequestWatch watch = hold.watch;
			hold.gate.later(() -> watch.kept(kept));
		}
		this.context.send(Command.SHRINK, () -> this.context.store.shrink(hold.gate.resource, before, kept))
			.whenComplete((held, error) -> {
				if (error == null) {
					if (!held) {
						this.keeper.lose(hold, "the store says that nothing of it is left");
					}
					answer.complete(held);
				}
				else {
					answer.completeExceptionally(error);
					this.context.scheduler.schedule(() -> hold.gate.execute(() -> {
						if (hold.permits == kept && hold.isHeld(this.context.now())) {
							shrink(hold, kept, answer);
						}
					}), this.context.retryDelay());
				}
			});
	}

	/**
	 * Shut down in order: grant nothing new, keep renewing what is held until it ends,
	 * release what is left when the time is over. Does not block.
	 * @param patience how long work in flight may take
	 * @return completed when nothing is held any more, no release is without an answer,
	 * and the store has stopped to receive wake-ups
	 */
	public CompletableFuture<@Nullable Void> shutDown(Duration patience) {
		return this.shutDown.start(patience);
	}

	/**
	 * Start, if that was not done before, or grant again after a shut-down, as long as
	 * this engine is not closed. After a shut-down this is another instance: what it held
	 * before is lost, if that has not ended.
	 */
	public void resume() {
		this.shutDown.resume();
	}

	/**
	 * Shut down at once, if that was not done before, and free what this engine uses, its
	 * store included. Blocks until what was held is released, for the command timeout at
	 * most.
	 */
	@Override
	public void close() {
		try {
			Answers.await(this.context.scheduler, shutDown(Duration.ZERO), this.context.settings.commandTimeout(),
					(error) -> new IllegalStateException("Not everything could be released at shut-down", error));
		}
		catch (IllegalStateException ex) {
			logger.warn(ex.getMessage(), ex);
		}
		this.context.store.close();
		// What they keep ends in the store by itself.
		this.releases.clear();
		if (this.ownScheduler != null) {
			this.ownScheduler.close();
		}
	}

	boolean isClosed() {
		return this.context.isClosed();
	}

	/**
	 * Whether nothing is held or waited for, and nothing is remembered of any key.
	 * @return whether this engine is idle
	 */
	boolean isIdle() {
		return this.gates.isEmpty() && this.contenders.isEmpty() && this.releases.isEmpty()
				&& this.keeper.holds().isEmpty();
	}

	// For whoever watches

	/** Who waits for anything. */
	CompletableFuture<List<Waiter>> waiters() {
		List<CompletableFuture<List<Waiter>>> answers = this.gates.values().stream().map(Gate::waiters).toList();
		return CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new))
			.thenApply((done) -> answers.stream().map(CompletableFuture::join).flatMap(List::stream).toList());
	}

	/**
	 * What all instances that share the store hold and wait for.
	 * @return the view of the fleet, which costs nothing while nobody looks
	 */
	public Fleet fleet() {
		return this.fleet;
	}

}
