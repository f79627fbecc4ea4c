package io.holdfast.engine;

import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockNotAcquiredException.Reason;
import io.holdfast.engine.LeaseStore.ReleaseReply;

/**
 * What the gates of one instance share: its id and tokens, the store, the clock, the
 * keeper, and the way of a wake-up to its waiter. Asynchronous throughout; thread-safe.
 */
final class LockEngine implements LeaseStore.WakeUps {

	private static final Log logger = LogFactory.getLog(LockEngine.class);

	/**
	 * What the store gets for its first answer, also if the wait is shorter.
	 */
	static final long FIRST_ANSWER_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

	final LeaseStore store;

	final Scheduler scheduler;

	final Executor callbacks;

	final EngineSettings settings;

	final LeaseKeeper keeper = new LeaseKeeper(this);

	/** Who stands in the store for this instance, by token. */
	final Map<String, Waiter> contenders = new ConcurrentHashMap<>();

	private final Map<String, Gate> gates = new ConcurrentHashMap<>();

	/** Releases without an answer: a shut-down must not close the store before them. */
	private final Set<CompletableFuture<?>> releases = ConcurrentHashMap.newKeySet();

	private final String instanceId;

	private final AtomicLong tokens = new AtomicLong();

	private final DoubleSupplier random;

	private volatile boolean closed;

	LockEngine(LeaseStore store, Scheduler scheduler, Executor callbacks, EngineSettings settings, String instanceId,
			DoubleSupplier random) {
		this.store = store;
		this.scheduler = scheduler;
		this.callbacks = callbacks;
		this.settings = settings;
		this.instanceId = instanceId;
		this.random = random;
		store.start(instanceId, this);
	}

	static String newInstanceId() {
		byte[] bytes = new byte[16];
		new SecureRandom().nextBytes(bytes);
		return HexFormat.of().formatHex(bytes);
	}

	Waiter acquire(String key, Demand demand, @Nullable Thread owner) {
		Gate gate = this.gates.compute(key, (k, existing) -> {
			Gate entered = (existing != null) ? existing : new Gate(this, k);
			entered.users++;
			return entered;
		});
		Waiter waiter = new Waiter(this, gate, this.instanceId + ":" + this.tokens.incrementAndGet(), demand, owner);
		gate.execute(() -> gate.arrive(waiter));
		return waiter;
	}

	/** End a wait from outside, unless it has ended already. */
	void abandon(Waiter waiter, RuntimeException why) {
		if (waiter.result.completeExceptionally(why)) {
			waiter.gate.execute(() -> waiter.gate.giveUp(waiter));
		}
	}

	void leave(Gate gate) {
		this.gates.computeIfPresent(gate.key, (k, existing) -> (--existing.users == 0) ? null : existing);
	}

	CompletableFuture<ReleaseReply> release(String key, String token, Demand demand, boolean doubtful,
			LeaseStore.@Nullable Next next) {
		CompletableFuture<ReleaseReply> outcome = new Release(this, key, token, demand, doubtful).start(next);
		if (!outcome.isDone()) {
			this.releases.add(outcome);
			outcome.whenComplete((reply, error) -> this.releases.remove(outcome));
		}
		return outcome;
	}

	/**
	 * Send a command. A store throws nothing, but the stack may end or memory be full on
	 * the way to it; the gate must learn of that as of any other failure.
	 */
	static <T> CompletableFuture<T> send(Supplier<CompletableFuture<T>> command) {
		try {
			return command.get();
		}
		catch (RuntimeException | Error ex) {
			return CompletableFuture.failedFuture(ex);
		}
	}

	/**
	 * When what is being released by now has been answered, or was not in time.
	 * @return completed by the last of the releases, whatever they came to
	 */
	CompletableFuture<@Nullable Void> released() {
		return CompletableFuture.allOf(this.releases.toArray(CompletableFuture[]::new)).handle((done, error) -> null);
	}

	void lose(Hold hold, String why) {
		List<Runnable> actions = hold.lose();
		if (actions == null) {
			return;
		}
		this.keeper.forget(hold);
		long now = now();
		String message = "The lease of lock '" + hold.gate.key + "' (fence " + hold.fence + ") was lost after "
				+ millis(now - hold.grantedAt) + " ms: " + why + ". Somebody else may hold it now";
		if (hold.hasRunOut(now)) {
			// Perhaps as it was meant to: only its late release is warned of.
			logger.debug(message);
		}
		else {
			logger.warn(message);
		}
		actions.forEach(this::call);
		hold.gate.execute(() -> hold.gate.lost(hold));
	}

	/** Run what a user gave us. */
	void call(Runnable action) {
		this.callbacks.execute(() -> {
			try {
				action.run();
			}
			catch (RuntimeException | Error ex) {
				logger.error("A callback failed", ex);
			}
		});
	}

	void renewalFailed(Hold hold, Throwable error) {
		logger.debug("Renewal of lock '" + hold.gate.key + "' failed, and is tried again", error);
	}

	@Override
	public void handedOver(String key, String token, long fence, long ttlMillis) {
		Waiter waiter = this.contenders.get(token);
		if (waiter != null) {
			waiter.gate.execute(() -> waiter.handedOver(fence, ttlMillis));
		}
		else if (this.keeper.find(token) == null && isOwn(token)) {
			// Its waiter gave up: the key must not wait for the claim's end.
			long claim = this.settings.handoffTimeout().toMillis();
			Demand over = new Demand(false, 0, claim, claim, false, 0, false);
			release(key, token, over, false, null);
		}
	}

	@Override
	public void listening() {
		this.contenders.values().forEach((waiter) -> waiter.gate.execute(waiter::listening));
	}

	/**
	 * Grant nothing new; who waits is told so.
	 * @return completed when every gate knows
	 */
	CompletableFuture<@Nullable Void> close() {
		this.closed = true;
		return CompletableFuture.allOf(this.gates.values().stream().map((gate) -> {
			CompletableFuture<@Nullable Void> done = new CompletableFuture<>();
			gate.execute(() -> {
				gate.close();
				done.complete(null);
			});
			return done;
		}).toArray(CompletableFuture[]::new)).thenApply((done) -> null);
	}

	void open() {
		if (this.closed) {
			this.closed = false;
			this.store.start(this.instanceId, this);
		}
	}

	boolean isClosed() {
		return this.closed;
	}

	boolean isOwn(String token) {
		return token.startsWith(this.instanceId + ":");
	}

	boolean isIdle() {
		return this.gates.isEmpty() && this.contenders.isEmpty() && this.keeper.holds().isEmpty();
	}

	// Time

	long now() {
		return this.scheduler.nanoTime();
	}

	/** Jitter that only shortens. */
	long downwards(long nanos) {
		return (long) (nanos * (0.8 + 0.2 * this.random.getAsDouble()));
	}

	long retryDelay() {
		return (long) (this.settings.retryInterval().toNanos() * (0.75 + 0.5 * this.random.getAsDouble()));
	}

	long commandTimeoutNanos() {
		return this.settings.commandTimeout().toNanos();
	}

	private static String millis(long nanos) {
		return Long.toString(Duration.ofNanos(nanos).toMillis());
	}

	// Errors

	static boolean isTemporary(Throwable error) {
		return cause(error) instanceof StoreFailure failure && failure.isTemporary();
	}

	private static Throwable cause(Throwable error) {
		return (error instanceof CompletionException && error.getCause() != null) ? error.getCause() : error;
	}

	private static String text(Throwable cause) {
		return (cause.getMessage() != null) ? cause.getMessage() : cause.toString();
	}

	LockNotAcquiredException notAcquired(Waiter waiter, Reason reason) {
		return new LockNotAcquiredException(waiter.gate.key, reason, Duration.ofNanos(waiter.waitedNanos()), null);
	}

	LeaseStoreException storeTrouble(Waiter waiter, @Nullable Throwable error) {
		Throwable cause = (error != null) ? cause(error) : null;
		return new LeaseStoreException(waiter.gate.key,
				"Lock '" + waiter.gate.key + "' was not acquired after " + millis(waiter.waitedNanos()) + " ms: "
						+ ((cause != null) ? text(cause) : "the store (Redis) did not answer"),
				cause);
	}

	LeaseStoreException releaseTrouble(String key, Throwable error) {
		Throwable cause = cause(error);
		return new LeaseStoreException(key, "The release of lock '" + key + "' is not confirmed yet: " + text(cause)
				+ ". It is repeated in the background; the key expires by itself at the latest", cause);
	}

	LeaseStoreException storeTrouble(String key, String what, Throwable error) {
		Throwable cause = cause(error);
		return new LeaseStoreException(key, what + " of lock '" + key + "' failed: " + text(cause), cause);
	}

}
