package io.holdfast.engine.fleet;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import io.holdfast.async.SingleLine;
import io.holdfast.engine.context.EngineContext;
import io.holdfast.engine.observe.EngineObserver.Command;
import io.holdfast.engine.request.EngineExceptions;
import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.StoreCommandException;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Keeps an instance among those that the store knows to be there, in the background. No
 * lease is asked for before the store has said that the others which are there fit it.
 * What else goes wrong with that matters to nothing else. Thread-safe.
 *
 * @since 0.1.0
 */
public final class InstanceRegistration implements EngineContext.Admission {

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

	private @Nullable Future<?> timer;

	/** What the store was told last, answered or not. */
	private CompletableFuture<?> told = CompletableFuture.completedFuture(null);

	/** How often that has failed in a row. */
	private int failures;

	private boolean warned;

	/** Done once leases may be asked for; failed while they may not. */
	private volatile CompletableFuture<@Nullable Void> admission = new CompletableFuture<>();

	/** Until when the store counts this instance in, whatever becomes of it. */
	private volatile long admittedUntil;

	/** Whether the store has counted this instance in since it joined. */
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
		context.admitBy(this);
	}

	@Override
	public boolean isAdmitted(long now) {
		return isOpen(this.admission, now);
	}

	/**
	 * Ask for leave to ask for leases. An instance that was silent for so long that the
	 * store may have forgotten it has to join again first, which this begins.
	 * @return completed once they may be asked for; fails if others do not fit this
	 * instance, or if that cannot be found out now
	 */
	@Override
	public CompletableFuture<@Nullable Void> requestAdmission() {
		CompletableFuture<@Nullable Void> current = this.admission;
		return isOpen(current, this.context.scheduler.nanoTime()) ? current : rejoin();
	}

	private boolean isOpen(CompletableFuture<?> current, long now) {
		return current.isDone() && !current.isCompletedExceptionally() && now - this.admittedUntil < 0;
	}

	private synchronized CompletableFuture<@Nullable Void> rejoin() {
		if (this.joined && this.misfit == null && this.admission.isDone()
				&& !isOpen(this.admission, this.context.scheduler.nanoTime())) {
			this.admission = new CompletableFuture<>();
			refreshAfter(0);
		}
		return this.admission;
	}

	@Override
	public @Nullable String misfit() {
		return this.misfit;
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
			this.timer.cancel(false);
		}
		this.timer = this.context.scheduler.schedule(() -> this.context.call(this::refresh), nanos);
	}

	private void refresh() {
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
		// Not under a lock: those that wait for the admission go on by that.
		settle(id, sentAt, misfit, error).run();
	}

	/** Return what tells those that wait for the admission. */
	private synchronized Runnable settle(String id, long sentAt, @Nullable String misfit, @Nullable Throwable error) {
		CompletableFuture<@Nullable Void> asked = this.admission;
		if (!this.joined || !id.equals(this.context.instanceId())) {
			return () -> {
			};
		}
		goOn(misfit != null, error);
		if (error != null && EngineExceptions.isTemporary(error)) {
			if (!this.admitted) {
				return () -> asked.completeExceptionally(error);
			}
			// The key of the fleet may be away alone, as in a cluster.
			this.admittedUntil = this.context.scheduler.nanoTime() + this.context.shortenRandomly(RETRY);
			return () -> asked.complete(null);
		}
		boolean wasKeptOut = this.misfit != null;
		this.misfit = misfit;
		this.admitted = misfit == null;
		if (misfit != null) {
			if (!wasKeptOut) {
				logger.error(SingleLine.of(misfit));
			}
			Throwable refusal = StoreCommandException.incompatible(misfit);
			if (asked.isDone()) {
				this.admission = CompletableFuture.failedFuture(refusal);
			}
			return () -> asked.completeExceptionally(refusal);
		}
		// Also if that cannot be found out for want of a right: leases do not depend on
		// it.
		this.admittedUntil = sentAt + RETENTION.toNanos();
		if (asked.isCompletedExceptionally()) {
			this.admission = CompletableFuture.completedFuture(null);
		}
		return () -> asked.complete(null);
	}

	private void goOn(boolean misfit, @Nullable Throwable error) {
		this.failures = (error != null) ? this.failures + 1 : 0;
		// One failure alone may be a restart.
		if (error != null && !this.warned && (this.failures > 1 || !EngineExceptions.isTemporary(error))) {
			this.warned = true;
			boolean waits = !this.admitted && EngineExceptions.isTemporary(error);
			logger.warn((waits ? "This instance gets no leases before Redis knows that it is there: "
					: "The endpoints of other instances do not show this one; its leases do not depend on that: ")
					+ EngineExceptions.text(error));
		}
		refreshAfter(this.context.shortenRandomly((misfit || error != null) ? RETRY : REFRESH));
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
		this.misfit = null;
		this.admitted = false;
		if (this.admission.isDone()) {
			// The one that comes after this one has to ask for itself.
			this.admission = new CompletableFuture<>();
		}
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
