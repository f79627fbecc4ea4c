package io.holdfast.engine.fleet;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import io.holdfast.engine.context.EngineContext;
import io.holdfast.engine.context.Scheduler;
import io.holdfast.engine.observe.EngineObserver.Command;
import io.holdfast.engine.request.EngineExceptions;
import io.holdfast.engine.store.InstanceInfo;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Keeps an instance among those that the store knows to be there, in the background. What
 * goes wrong with that matters to nothing else. Thread-safe.
 */
public final class InstanceRegistration {

	private static final Log logger = LogFactory.getLog(InstanceRegistration.class);

	/** An instance that has said nothing for so long is not there any more. */
	public static final Duration RETENTION = Duration.ofMinutes(3);

	private static final long REFRESH = TimeUnit.MINUTES.toNanos(1);

	private static final long RETRY = TimeUnit.SECONDS.toNanos(10);

	/** How long a shut-down waits for the store to forget this instance. */
	private static final long LEAVING = EngineContext.FIRST_ANSWER_NANOS;

	private final EngineContext context;

	private final Supplier<Duration> age;

	private final Supplier<InstanceInfo> source;

	private volatile @Nullable InstanceInfo info;

	private boolean joined;

	private Scheduler.@Nullable Timer timer;

	/** What the store was told last, answered or not. */
	private CompletableFuture<?> told = CompletableFuture.completedFuture(null);

	/** How often that has failed in a row. */
	private int failures;

	private boolean warned;

	/**
	 * Create a membership.
	 * @param context the surroundings of this instance
	 * @param age tells for how long this instance is there
	 * @param source tells of this instance; may block
	 */
	InstanceRegistration(EngineContext context, Supplier<Duration> age, Supplier<InstanceInfo> source) {
		this.context = context;
		this.age = age;
		this.source = source;
	}

	/** Return what is told of this instance, once it is known. */
	@Nullable InstanceInfo info() {
		return this.info;
	}

	/** Be there, from now on. */
	synchronized void join() {
		this.joined = true;
		refreshAfter(0);
	}

	private void refreshAfter(long nanos) {
		if (this.timer != null) {
			// There may be one of an earlier time, which was left and joined again.
			this.timer.cancel();
		}
		this.timer = this.context.scheduler.schedule(() -> this.context.call(this::refresh), nanos);
	}

	private void refresh() {
		InstanceInfo current = this.info;
		if (current == null) {
			current = this.source.get();
			this.info = current;
		}
		tell(current);
	}

	private synchronized void tell(InstanceInfo current) {
		if (this.joined) {
			this.told = this.context
				.sendInTime(Command.FLEET,
						() -> this.context.store.instances()
							.join(this.context.instanceId(), current, this.age.get(), RETENTION))
				.whenComplete((done, error) -> answered(error));
		}
	}

	private synchronized void answered(@Nullable Throwable error) {
		this.failures = (error != null) ? this.failures + 1 : 0;
		// One failure alone may be a restart.
		if (error != null && this.joined && !this.warned
				&& (this.failures > 1 || !EngineExceptions.isTemporary(error))) {
			this.warned = true;
			logger.warn("This instance is not known to those who watch the fleet; leases do not depend on that: "
					+ EngineExceptions.text(error));
		}
		if (this.joined) {
			refreshAfter(this.context.downwards((error != null) ? RETRY : REFRESH));
		}
	}

	/**
	 * Be there no longer.
	 * @return completed when the store has forgotten this instance, or after a short time
	 */
	synchronized CompletableFuture<@Nullable Void> leave() {
		CompletableFuture<@Nullable Void> left = new CompletableFuture<>();
		if (!this.joined) {
			left.complete(null);
			return left;
		}
		this.joined = false;
		// It may be another one when this is sent.
		String id = this.context.instanceId();
		if (this.timer != null) {
			this.timer.cancel();
		}
		Scheduler.Timer patience = this.context.scheduler.schedule(() -> left.complete(null), LEAVING);
		// Where commands do not keep their order, this one must still be the last.
		this.told.handle((done, error) -> done)
			.thenCompose((done) -> this.context.send(Command.FLEET, () -> this.context.store.instances().leave(id)))
			.whenComplete((done, error) -> {
				patience.cancel();
				left.complete(null);
			});
		return left;
	}

}
