package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;

import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.PermitLease;
import io.holdfast.ReleaseResult;
import io.holdfast.engine.Resource.Kind;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * A lease as its user has it: one of those open on a {@link Hold}.
 */
abstract class HeldLease implements OpenLease {

	private static final Log logger = LogFactory.getLog(HeldLease.class);

	private static final Duration MIN_RENEWAL = Duration.ofMillis(1);

	private static final Duration MAX_RENEWAL = Duration.ofDays(365);

	final LeaseEngine engine;

	final EngineContext context;

	final Hold hold;

	private final AtomicBoolean released = new AtomicBoolean();

	/** Whether the thread of the hold asked for it. */
	private final boolean own;

	/** What it was asked for by: its terms may be others than those of its hold. */
	private final Demand demand;

	/** When it was granted or, of several together, when the last of them was. */
	private volatile long openedAt;

	/** One of several of which some are still waited for: it is renewed until then. */
	private volatile boolean partial;

	private HeldLease(Waiter waiter, Hold hold) {
		this.engine = waiter.engine;
		this.context = waiter.engine.context;
		this.hold = hold;
		this.own = waiter.owner != null && waiter.owner == hold.owner;
		this.demand = waiter.demand;
		this.openedAt = this.context.now();
		this.partial = waiter.isPart();
	}

	static HeldLease of(Waiter waiter, Hold hold) {
		return (hold.gate.resource.kind() == Kind.SEMAPHORE) ? new Permits(waiter, hold) : new Lock(waiter, hold);
	}

	// Its terms

	/** All that it is a part of is there: its user's time begins. */
	final void begin(long now) {
		if (this.partial) {
			this.openedAt = now;
			this.partial = false;
		}
		this.hold.begin(now);
	}

	final boolean isRenewed() {
		return this.partial || this.demand.renewal();
	}

	final boolean isRenewed(long now) {
		return this.partial || this.demand.renewal() && now - this.openedAt < this.demand.maxHoldNanos();
	}

	final long leaseMillis() {
		return this.demand.leaseMillis();
	}

	/** How much is left of its time if nothing lengthens it. */
	final long leftMillis(long now) {
		return this.demand.leaseMillis() - TimeUnit.NANOSECONDS.toMillis(now - this.openedAt);
	}

	/** Until when it would be valid had the store granted it when it was asked for. */
	final long validIfGranted() {
		return this.openedAt + Hold.validity(this.demand.leaseMillis());
	}

	final boolean isOwn() {
		return this.own;
	}

	@Override
	public Stream<Hold> open() {
		return isReleased() ? Stream.empty() : Stream.of(this.hold);
	}

	@Override
	public CompletableFuture<ReleaseResult> discardAsync() {
		return answered(end(false));
	}

	@Override
	public String key() {
		return this.hold.gate.resource.key();
	}

	@Override
	public boolean isHeld() {
		return !this.released.get() && this.hold.isHeld(this.context.now());
	}

	final boolean isReleased() {
		return this.released.get();
	}

	@Override
	public Duration remaining() {
		return isHeld() ? Duration.ofNanos(Math.max(0, this.hold.validUntil() - this.context.now())) : Duration.ZERO;
	}

	@Override
	public void ensureHeld() {
		if (!isHeld()) {
			throw new LeaseLostException(key(), "The lease of " + this.hold.description() + " is not held any more: it "
					+ (isReleasedOnly() ? "was released" : "was lost, because " + whyNotHeld()));
		}
	}

	/** Return whether it was released, and no loss is known, by its release or before. */
	private boolean isReleasedOnly() {
		return this.released.get() && !this.hold.isLost();
	}

	final String whyNotHeld() {
		return this.hold.whyNotHeld(this.context.now());
	}

	@Override
	public void renew(Duration leaseTime) {
		checkRenewal(leaseTime, this.hold.gate.resource);
		ensureHeld();
		this.context.answer(this.engine.keeper.renewNow(List.of(this.hold), leaseTime.toMillis()),
				this.hold.gate.resource, "The renewal");
		ensureHeld();
	}

	static void checkRenewal(Duration leaseTime, Resource resource) {
		if (leaseTime.compareTo(MIN_RENEWAL) < 0 || leaseTime.compareTo(MAX_RENEWAL) > 0) {
			throw new IllegalArgumentException("leaseTime of " + resource + " is " + leaseTime
					+ ": a lease is renewed for 1 ms at least and 365 days at most");
		}
	}

	@Override
	public void onLost(Runnable action) {
		if (!this.hold.onLost(this, action) && !this.released.get()) {
			this.context.call(action);
		}
	}

	@Override
	public ReleaseResult release() {
		return Answers.await(this.context.scheduler, end(), this.engine.releasePatience,
				(error) -> (error instanceof LeaseStoreException trouble) ? trouble
						: Failures.releaseTrouble(this.hold.gate.resource, error));
	}

	@Override
	public CompletableFuture<ReleaseResult> releaseAsync() {
		return answered(end());
	}

	private CompletableFuture<ReleaseResult> answered(CompletableFuture<ReleaseResult> end) {
		return end.whenCompleteAsync((result, error) -> {
		}, this.context::execute);
	}

	final CompletableFuture<ReleaseResult> end() {
		return end(true);
	}

	private CompletableFuture<ReleaseResult> end(boolean used) {
		if (!this.released.compareAndSet(false, true)) {
			return CompletableFuture.completedFuture(ReleaseResult.ALREADY_RELEASED);
		}
		CompletableFuture<ReleaseResult> result = new CompletableFuture<>();
		this.hold.gate.execute(() -> this.hold.gate.release(this, used, result));
		return result;
	}

	/** End it within an event of its gate, as it reached nobody. */
	final void discard() {
		if (this.released.compareAndSet(false, true)) {
			this.hold.gate.release(this, false, new CompletableFuture<>());
		}
	}

	@Override
	public void close() {
		try {
			release();
		}
		catch (LeaseStoreException ex) {
			logger.warn(ex.getMessage());
		}
	}

	@Override
	public String toString() {
		return getClass().getSimpleName() + "Lease[" + this.hold.description() + ", "
				+ (isHeld() ? remaining().toMillis() + " ms left" : "not held") + "]";
	}

	/** The lease of a lock, exclusive or not. */
	private static final class Lock extends HeldLease implements LockLease {

		Lock(Waiter waiter, Hold hold) {
			super(waiter, hold);
		}

		@Override
		public long fence() {
			return this.hold.fence;
		}

	}

	/** The lease of permits. */
	static final class Permits extends HeldLease implements PermitLease {

		Permits(Waiter waiter, Hold hold) {
			super(waiter, hold);
		}

		@Override
		public int permits() {
			return this.hold.permits;
		}

		/** Give some back, and keep the others. Blocks until the store answers. */
		void shrink(int kept) {
			CompletableFuture<Boolean> answer = new CompletableFuture<>();
			this.hold.gate.execute(() -> this.engine.shrink(this.hold, kept, answer));
			this.context.answer(answer, this.hold.gate.resource, "The release of some permits");
			boolean held = this.hold.isHeld(this.context.now());
			// In this order: another thread may have released the rest meanwhile.
			if (!held && !isReleased()) {
				ensureHeld();
			}
		}

	}

}
