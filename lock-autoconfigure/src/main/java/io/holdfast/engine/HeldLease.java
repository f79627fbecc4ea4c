package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.ReleaseResult;
import io.holdfast.engine.LeaseStore.Renewal;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * A lease as its user has it: one of those open on a {@link Hold}.
 */
final class HeldLease implements LockLease {

	private static final Log logger = LogFactory.getLog(HeldLease.class);

	private static final Duration MIN_RENEWAL = Duration.ofMillis(1);

	private static final Duration MAX_RENEWAL = Duration.ofDays(365);

	private final LockEngine engine;

	private final Hold hold;

	private final AtomicBoolean released = new AtomicBoolean();

	HeldLease(LockEngine engine, Hold hold) {
		this.engine = engine;
		this.hold = hold;
	}

	@Override
	public String key() {
		return this.hold.gate.key;
	}

	@Override
	public long fence() {
		return this.hold.fence;
	}

	@Override
	public boolean isHeld() {
		return !this.released.get() && this.hold.isHeld(this.engine.now());
	}

	@Override
	public Duration remaining() {
		return isHeld() ? Duration.ofNanos(Math.max(0, this.hold.validUntil() - this.engine.now())) : Duration.ZERO;
	}

	@Override
	public void ensureHeld() {
		if (!isHeld()) {
			throw new LeaseLostException(key(), "The lease of lock '" + key() + "' is not held any more: it "
					+ (this.released.get() ? "was released" : "was lost or has expired"));
		}
	}

	@Override
	public void renew(Duration leaseTime) {
		if (leaseTime.compareTo(MIN_RENEWAL) < 0 || leaseTime.compareTo(MAX_RENEWAL) > 0) {
			throw new IllegalArgumentException("leaseTime of lock '" + key() + "' is " + leaseTime
					+ ": a lease is renewed for 1 ms at least and 365 days at most");
		}
		long millis = leaseTime.toMillis();
		ensureHeld();
		long sentAt = this.engine.now();
		CompletableFuture<List<Boolean>> reply = this.engine.store
			.renew(List.of(new Renewal(key(), this.hold.token, millis)));
		boolean owned = Answers
			.await(reply, this.engine.settings.commandTimeout(),
					(error) -> this.engine.storeTrouble(key(), "The renewal", error))
			.get(0);
		this.engine.keeper.renewed(this.hold, owned, sentAt, millis);
		ensureHeld();
	}

	@Override
	public void onLost(Runnable action) {
		Runnable unlessReleased = () -> {
			if (!this.released.get()) {
				action.run();
			}
		};
		if (!this.hold.onLost(unlessReleased)) {
			this.engine.call(unlessReleased);
		}
	}

	@Override
	public ReleaseResult release() {
		// The release answers for itself within the command timeout; this is a backstop.
		Duration patience = this.engine.settings.commandTimeout().plusSeconds(1);
		return Answers.await(end(), patience, (error) -> (error instanceof LeaseStoreException trouble) ? trouble
				: this.engine.releaseTrouble(key(), error));
	}

	@Override
	public CompletableFuture<ReleaseResult> releaseAsync() {
		return end().whenCompleteAsync((result, error) -> {
		}, this.engine.callbacks);
	}

	private CompletableFuture<ReleaseResult> end() {
		if (!this.released.compareAndSet(false, true)) {
			return CompletableFuture.completedFuture(ReleaseResult.ALREADY_RELEASED);
		}
		CompletableFuture<ReleaseResult> result = new CompletableFuture<>();
		this.hold.gate.execute(() -> this.hold.gate.release(this.hold, result));
		return result;
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
		return "LockLease[" + key() + ", fence=" + fence() + ", "
				+ (isHeld() ? remaining().toMillis() + " ms left" : "not held") + "]";
	}

}
