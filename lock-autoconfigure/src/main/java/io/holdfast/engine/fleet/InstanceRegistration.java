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
 * The registration of an instance in the store, kept up in the background. Each
 * registration compares the versions of the fleet, and no lease is asked for before the
 * first comparison. Other failures of the registration have no effect on leases.
 * Thread-safe.
 */
public final class InstanceRegistration implements Membership {

	private static final Log logger = LogFactory.getLog(InstanceRegistration.class);

	/** An instance that has said nothing for so long is not there any more. */
	public static final Duration RETENTION = Duration.ofMinutes(3);

	private static final long REFRESH = TimeUnit.MINUTES.toNanos(1);

	/** Limit of the names, those of former instances included. */
	static final int MOST_NAMES = 1_000;

	/** The least time between two looks for the names of new instances. */
	private static final long NAMES_PAUSE = TimeUnit.SECONDS.toNanos(1);

	private static final long RETRY = TimeUnit.SECONDS.toNanos(10);

	/** How long a shut-down waits for the store to forget this instance. */
	private static final long LEAVING = EngineContext.FIRST_ANSWER_NANOS;

	private final EngineContext context;

	private final Supplier<Duration> age;

	private final Supplier<InstanceInfo> source;

	private volatile @Nullable InstanceInfo info;

	/**
	 * Copy of the register, by the shown names of instances: of the last refresh, and
	 * behind these the instances that have left, the latest first.
	 */
	private volatile Map<String, InstanceInfo> names = Map.of();

	/** Whether a look for the names of new instances is due. */
	private boolean refreshingNames;

	private boolean joined;

	private @Nullable Future<?> timer;

	/** Last message to the store, answered or not. */
	private CompletableFuture<?> told = CompletableFuture.completedFuture(null);

	/** How often that has failed in a row. */
	private int failures;

	private boolean warned;

	/** Whether a comparison of the versions is due or under way. */
	private boolean comparing;

	/** Requests for the admission that the comparison under way answers, in order. */
	private List<CompletableFuture<@Nullable Void>> requests = new ArrayList<>();

	/** Whether the last comparison since the start that was answered found no misfit. */
	private boolean admitted;

	/** Why others that are there do not fit this instance, or {@code null}. */
	private volatile @Nullable String misfit;

	/**
	 * Create a membership.
	 * @param source tells of this instance; may block
	 */
	InstanceRegistration(EngineContext context, Supplier<Duration> age, Supplier<InstanceInfo> source) {
		this.context = context;
		this.age = age;
		this.source = source;
		context.setMembership(this);
	}

	/**
	 * Have the versions compared, or join the comparison under way.
	 * @return completed once leases may be asked for; fails if others do not fit this
	 * instance, or if the comparison fails
	 */
	@Override
	public synchronized CompletableFuture<@Nullable Void> requestAdmission() {
		if (this.context.isAdmitted()) {
			return CompletableFuture.completedFuture(null);
		}
		String reason = this.misfit;
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
		LockHolder holder = (own != null) ? holder(shown, own) : named(shown);
		if (holder == null) {
			refreshNamesSoon();
		}
		return holder;
	}

	/**
	 * Return an instance by its shown name.
	 * @return the instance; {@code null} if the copy of the register does not have it
	 */
	@Nullable LockHolder named(String instance) {
		InstanceInfo known = this.names.get(instance);
		return (known != null) ? holder(instance, known) : null;
	}

	/** Have a new instance named the next time. */
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
	public @Nullable String misfit() {
		return this.misfit;
	}

	/** Return the description of this instance, once it is known. */
	@Nullable InstanceInfo info() {
		return this.info;
	}

	/** Be there, from now on. */
	@Override
	public synchronized void join() {
		this.joined = true;
		compare();
	}

	private void refreshAfter(long nanos) {
		if (this.timer != null) {
			// There may be one of an earlier time, which was left and joined again.
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
		tell(current);
	}

	private synchronized void tell(InstanceInfo current) {
		if (this.joined) {
			String id = this.context.instanceId();
			long sentAt = this.context.scheduler.nanoTime();
			this.told = this.context
				.sendInTime(Command.FLEET,
						() -> this.context.store.instances().join(id, current, this.age.get(), RETENTION))
				.whenComplete((misfit, error) -> onJoined(id, sentAt, misfit, error));
		}
	}

	private void onJoined(String id, long sentAt, @Nullable String misfit, @Nullable Throwable error) {
		List<CompletableFuture<@Nullable Void>> answered;
		Throwable refusal;
		synchronized (this) {
			if (!this.joined || !id.equals(this.context.instanceId())) {
				return;
			}
			this.comparing = false;
			goOn(misfit != null, error);
			refusal = settle(sentAt, misfit, error);
			answered = this.requests;
			this.requests = new ArrayList<>();
			if (refusal == null && error == null) {
				refreshNames();
			}
		}
		// Not under the lock, as requests for leases go on here.
		answered.forEach((request) -> {
			if (refusal != null) {
				request.completeExceptionally(refusal);
			}
			else {
				request.complete(null);
			}
		});
	}

	/** Without the right to read the register, holders have no names. */
	private void refreshNames() {
		this.context.sendInTime(Command.FLEET, () -> this.context.store.instances().members(RETENTION, MOST_NAMES))
			.thenAccept(this::copy);
	}

	/**
	 * Copy the register. Instances that have left keep their names while there is room:
	 * with {@code minHold}, a lock is held for longer than its holder is there.
	 */
	synchronized void copy(List<Member> members) {
		Map<String, InstanceInfo> copy = new LinkedHashMap<>();
		members.forEach((member) -> copy.put(member.instance(), member.info()));
		this.names.forEach((instance, former) -> {
			if (copy.size() < MOST_NAMES) {
				copy.putIfAbsent(instance, former);
			}
		});
		this.names = copy;
	}

	/** Return why leases may not be asked for now, or {@code null}. */
	private @Nullable Throwable settle(long sentAt, @Nullable String misfit, @Nullable Throwable error) {
		if (error != null && CallResult.cause(error) instanceof StoreCommandException failure
				&& failure.isTemporary()) {
			if (!this.admitted) {
				return StoreCommandException.notCompared(failure);
			}
			// The key of the fleet may be away alone, as in a cluster.
			this.context.setAdmittedUntil(this.context.scheduler.nanoTime() + this.context.shortenRandomly(RETRY));
			return null;
		}
		boolean wasKeptOut = this.misfit != null;
		this.misfit = misfit;
		this.admitted = misfit == null;
		// So long that the store has not forgotten this instance before. Also without the
		// right to compare: leases do not depend on it.
		this.context.setAdmittedUntil(this.admitted ? (Long) (sentAt + RETENTION.toNanos()) : null);
		if (misfit != null) {
			if (!wasKeptOut) {
				logger.error(SingleLine.of(misfit));
			}
			return StoreCommandException.incompatible(misfit);
		}
		return null;
	}

	private void goOn(boolean misfit, @Nullable Throwable error) {
		this.failures = (error != null) ? this.failures + 1 : 0;
		// One failure alone may be a restart.
		if (error != null && !this.warned && (this.failures > 1 || !EngineExceptions.isTemporary(error))) {
			this.warned = true;
			boolean waits = !this.admitted && EngineExceptions.isTemporary(error);
			logger.warn((waits ? "No lock or permit is granted before Redis has answered: "
					: "Other instances and their endpoints do not see this one: ") + EngineExceptions.text(error));
		}
		refreshAfter(this.context.shortenRandomly((misfit || error != null) ? RETRY : REFRESH));
	}

	/**
	 * Be there no longer.
	 * @return completed when the store has forgotten this instance, or after a short time
	 */
	@Override
	public synchronized CompletableFuture<@Nullable Void> leave() {
		if (!this.joined) {
			return CompletableFuture.completedFuture(null);
		}
		this.joined = false;
		this.comparing = false;
		this.misfit = null;
		this.admitted = false;
		this.context.setAdmittedUntil(null);
		CompletableFuture<@Nullable Void> left = new CompletableFuture<>();
		// It may be another one when this is sent.
		String id = this.context.instanceId();
		if (this.timer != null) {
			this.timer.cancel(false);
		}
		Future<?> patience = this.context.scheduler.schedule(() -> left.complete(null), LEAVING);
		// Where commands do not keep their order, this one must still be the last.
		this.told.handle((done, error) -> done)
			.thenCompose((done) -> this.context.send(Command.FLEET, () -> this.context.store.instances().leave(id)))
			.whenComplete((done, error) -> {
				patience.cancel(false);
				left.complete(null);
			});
		return left;
	}

}
