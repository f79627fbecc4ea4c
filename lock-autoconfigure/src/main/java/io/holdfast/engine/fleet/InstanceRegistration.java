package io.holdfast.engine.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import io.holdfast.LockHolder;
import io.holdfast.async.CallResult;
import io.holdfast.async.SingleLine;
import io.holdfast.engine.EngineContext;
import io.holdfast.engine.EngineExceptions;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.Membership;
import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.InstanceStore.Member;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.Tokens;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Registration of an instance in the store, refreshed in the background. Each refresh
 * compares the versions of the fleet, and no lease is requested before the first
 * comparison. Other failures have no effect on leases. Thread-safe.
 */
public final class InstanceRegistration implements Membership {

	private static final Log logger = LogFactory.getLog(InstanceRegistration.class);

	/** Time without a refresh after which an instance counts as gone. */
	public static final Duration RETENTION = Duration.ofMinutes(3);

	private static final long REFRESH = TimeUnit.MINUTES.toNanos(1);

	/** Maximum number of names, including former instances. */
	static final int MAX_NAMES = 1_000;

	/**
	 * Minimum time between two reads of the register for new instances, in nanoseconds.
	 */
	private static final long NAMES_PAUSE = TimeUnit.SECONDS.toNanos(1);

	private static final long RETRY = TimeUnit.SECONDS.toNanos(10);

	/**
	 * Maximum time for which a shutdown waits for the removal from the register, in
	 * nanoseconds.
	 */
	private static final long LEAVING = EngineContext.FIRST_ANSWER_NANOS;

	private final EngineContext context;

	private final Supplier<Duration> age;

	private final Supplier<InstanceInfo> source;

	private volatile @Nullable InstanceInfo info;

	/**
	 * Copy of the register, by the public ids of instances: those of the last read first,
	 * followed by former instances, the latest first.
	 */
	private volatile Map<String, LockHolder> names = Map.of();

	/** Whether a read of the register for new instances is scheduled. */
	private boolean refreshingNames;

	private boolean joined;

	private @Nullable Future<?> timer;

	/** Last registration, answered or not. */
	private CompletableFuture<?> lastRegistration = CompletableFuture.completedFuture(null);

	/** Number of consecutive failures. */
	private int failures;

	private boolean warned;

	/** Whether a comparison of versions is scheduled or under way. */
	private boolean comparing;

	/** Requests for admission that wait for the current comparison, in order. */
	private List<CompletableFuture<@Nullable Void>> requests = new ArrayList<>();

	/**
	 * Whether the last successful comparison since the start has found no incompatible
	 * instance.
	 */
	private boolean admitted;

	/** Reason why this instance is incompatible with the fleet, or {@code null}. */
	private volatile @Nullable String incompatibility;

	/**
	 * Create a registration.
	 * @param source supplies the description of this instance; may block
	 */
	InstanceRegistration(EngineContext context, Supplier<Duration> age, Supplier<InstanceInfo> source) {
		this.context = context;
		this.age = age;
		this.source = source;
		context.setMembership(this);
	}

	/**
	 * Compare the versions, or join the comparison under way.
	 * @return a future that is completed when leases may be requested. It fails if this
	 * instance is incompatible with the fleet, or if the comparison fails
	 */
	@Override
	public synchronized CompletableFuture<@Nullable Void> requestAdmission() {
		if (this.context.isAdmitted()) {
			return CompletableFuture.completedFuture(null);
		}
		String reason = this.incompatibility;
		if (reason != null) {
			return CompletableFuture.failedFuture(StoreCommandException.incompatible(reason));
		}
		if (!this.joined && this.context.isClosed()) {
			return CompletableFuture
				.failedFuture(new StoreCommandException("this instance has shut down", false, null));
		}
		CompletableFuture<@Nullable Void> request = new CompletableFuture<>();
		this.requests.add(request);
		if (this.joined && !this.comparing) {
			compare();
		}
		return request;
	}

	@Override
	public @Nullable LockHolder holder(String instanceId) {
		String shown = Tokens.shown(instanceId);
		InstanceInfo own = instanceId.equals(this.context.instanceId()) ? this.info : null;
		LockHolder holder = (own != null) ? holder(shown, own) : findKnown(shown);
		if (holder == null) {
			refreshNamesSoon();
		}
		return holder;
	}

	/**
	 * Return an instance by its public id.
	 * @return the instance, or {@code null} if the copy of the register does not have it
	 */
	@Nullable LockHolder findKnown(String instance) {
		return this.names.get(instance);
	}

	/** Read the register soon, for the name of a new instance. */
	private synchronized void refreshNamesSoon() {
		if (this.joined && !this.refreshingNames) {
			this.refreshingNames = true;
			this.context.scheduler.schedule(() -> {
				synchronized (this) {
					this.refreshingNames = false;
				}
				refreshNames();
			}, NAMES_PAUSE);
		}
	}

	static LockHolder holder(String instance, InstanceInfo info) {
		return new LockHolder(info.application(), info.host(), info.process(), instance);
	}

	private void compare() {
		this.comparing = true;
		refreshAfter(0);
	}

	@Override
	public @Nullable String incompatibility() {
		return this.incompatibility;
	}

	/**
	 * Return the description of this instance, or {@code null} if it is not known yet.
	 */
	@Nullable InstanceInfo info() {
		return this.info;
	}

	/** Register this instance, and refresh the registration from now on. */
	@Override
	public synchronized void join() {
		this.joined = true;
		compare();
	}

	private void refreshAfter(long nanos) {
		if (this.timer != null) {
			// The timer may be from before a leave and a new join.
			this.timer.cancel(false);
		}
		this.timer = this.context.scheduler.schedule(() -> this.context.call(this::refresh), nanos);
	}

	private void refresh() {
		synchronized (this) {
			if (!this.joined) {
				return;
			}
			this.comparing = true;
		}
		InstanceInfo current = this.info;
		if (current == null) {
			try {
				current = this.source.get();
			}
			catch (RuntimeException | Error ex) {
				onJoined(this.context.instanceId(), this.context.scheduler.nanoTime(), null, ex);
				return;
			}
			this.info = current;
		}
		register(current);
	}

	private synchronized void register(InstanceInfo current) {
		if (this.joined) {
			String id = this.context.instanceId();
			long sentAt = this.context.scheduler.nanoTime();
			this.lastRegistration = this.context
				.sendInTime(Command.FLEET,
						() -> this.context.store.instances().join(id, current, this.age.get(), RETENTION))
				.whenComplete((incompatibility, error) -> onJoined(id, sentAt, incompatibility, error));
		}
	}

	private void onJoined(String id, long sentAt, @Nullable String incompatibility, @Nullable Throwable error) {
		List<CompletableFuture<@Nullable Void>> answered;
		Throwable refusal;
		synchronized (this) {
			if (!this.joined || !id.equals(this.context.instanceId())) {
				return;
			}
			this.comparing = false;
			scheduleNext(incompatibility != null, error);
			refusal = processComparison(sentAt, incompatibility, error);
			answered = this.requests;
			this.requests = new ArrayList<>();
			if (refusal == null && error == null) {
				refreshNames();
			}
		}
		// Outside the lock, because requests for leases continue here.
		answered.forEach((request) -> CallResult.complete(request, null, refusal));
	}

	/** Read the register. Without the right to do so, holders have no names. */
	private void refreshNames() {
		this.context.sendInTime(Command.FLEET, () -> this.context.store.instances().members(RETENTION, MAX_NAMES))
			.thenAccept(this::copy);
	}

	/**
	 * Copy the register. Keeps former instances as far as the limit allows: with
	 * {@code minHold}, a lock may be held for longer than its instance exists.
	 */
	synchronized void copy(List<Member> members) {
		Map<String, LockHolder> copy = new LinkedHashMap<>();
		members.forEach((member) -> copy.put(member.instance(), holder(member.instance(), member.info())));
		this.names.forEach((instance, former) -> {
			if (copy.size() < MAX_NAMES) {
				copy.putIfAbsent(instance, former);
			}
		});
		this.names = copy;
	}

	/**
	 * Process a comparison. Returns the reason why no leases may be requested now, or
	 * {@code null}.
	 */
	private @Nullable Throwable processComparison(long sentAt, @Nullable String incompatibility,
			@Nullable Throwable error) {
		if (error != null && CallResult.cause(error) instanceof StoreCommandException failure
				&& failure.isTemporary()) {
			if (!this.admitted) {
				return StoreCommandException.notCompared(failure);
			}
			// In a cluster, the register's key alone may be unreachable.
			this.context.setAdmittedUntil(this.context.scheduler.nanoTime() + this.context.shortenRandomly(RETRY));
			return null;
		}
		boolean wasKeptOut = this.incompatibility != null;
		this.incompatibility = incompatibility;
		this.admitted = incompatibility == null;
		// Until the registration expires in the store. Also after a denied comparison,
		// because leases do not depend on that right.
		this.context.setAdmittedUntil(this.admitted ? (Long) (sentAt + RETENTION.toNanos()) : null);
		if (incompatibility != null) {
			if (!wasKeptOut) {
				logger.error(SingleLine.of(incompatibility));
			}
			return StoreCommandException.incompatible(incompatibility);
		}
		return null;
	}

	private void scheduleNext(boolean incompatible, @Nullable Throwable error) {
		this.failures = (error != null) ? this.failures + 1 : 0;
		// A single failure may be a restart of Redis.
		if (error != null && !this.warned && (this.failures > 1 || !EngineExceptions.isTemporary(error))) {
			this.warned = true;
			boolean waits = !this.admitted && EngineExceptions.isTemporary(error);
			logger.warn((waits ? "No lock or permit is granted before Redis has answered: "
					: "Other instances and their endpoints do not see this one: ") + EngineExceptions.text(error));
		}
		if (error == null && !incompatible && this.warned) {
			this.warned = false;
			logger.info("Redis has answered: this instance is registered, and other instances see it");
		}
		refreshAfter(this.context.shortenRandomly((incompatible || error != null) ? RETRY : REFRESH));
	}

	/**
	 * Remove this instance from the register.
	 * @return a future that is completed by the store's answer, or after a short time
	 */
	@Override
	public synchronized CompletableFuture<@Nullable Void> leave() {
		if (!this.joined) {
			return CompletableFuture.completedFuture(null);
		}
		this.joined = false;
		this.comparing = false;
		this.incompatibility = null;
		this.admitted = false;
		this.context.setAdmittedUntil(null);
		CompletableFuture<@Nullable Void> left = new CompletableFuture<>();
		// Read the id now: it may have changed when the command is sent.
		String id = this.context.instanceId();
		if (this.timer != null) {
			this.timer.cancel(false);
		}
		Future<?> patience = this.context.scheduler.schedule(() -> left.complete(null), LEAVING);
		// Wait for the last registration: some stores do not keep the order of commands.
		this.lastRegistration.handle((done, error) -> done)
			.thenCompose((done) -> this.context.send(Command.FLEET, () -> this.context.store.instances().leave(id)))
			.whenComplete((done, error) -> {
				patience.cancel(false);
				left.complete(null);
			});
		return left;
	}

}
