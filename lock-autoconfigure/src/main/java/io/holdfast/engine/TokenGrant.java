package io.holdfast.engine;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

import io.holdfast.async.SingleLine;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * The grant of the store to a token: how much, to which request, with which fence.
 */
abstract class TokenGrant {

	/** All commands that named the token are answered. */
	static final long NO_DOUBT = -1;

	final String token;

	final long fence;

	/** Whose thread asked, for re-entry; {@code null} for asynchronous requests. */
	final @Nullable Thread thread;

	final ResolvedRequest request;

	/** Observes the request that it was granted to, or {@code null}. */
	final @Nullable RequestObservation observation;

	/** When it was granted or, of several together, when the last of them was. */
	private volatile long grantedAt;

	/**
	 * Whether other keys of its request are still waited for. Until then it is renewed,
	 * whatever is to become of it afterwards.
	 */
	private volatile boolean partial;

	/** Whether its work has failed, and others are not to be kept out. */
	private volatile boolean minHoldWaived;

	/**
	 * Since which reconnect a command that named the token may run late, or
	 * {@link #NO_DOUBT}.
	 */
	final long doubtSince;

	/** How it came from the grant by the store to this hold. */
	final HandOverHistory history;

	/**
	 * Create what was granted to a request.
	 * @param token by which the store knows it
	 * @param fence the fencing token
	 * @param requester the request that it is granted to
	 * @param doubtSince since which reconnect a command that named the token may run
	 * late, or {@link #NO_DOUBT}
	 * @param history how it came from the grant by the store
	 * @param now the time
	 */
	TokenGrant(String token, long fence, Waiter requester, long doubtSince, HandOverHistory history, long now) {
		this.token = token;
		this.fence = fence;
		this.thread = requester.thread;
		this.request = requester.request;
		this.observation = requester.observation;
		this.partial = requester.part;
		this.doubtSince = doubtSince;
		this.history = history;
		this.grantedAt = now;
	}

	/**
	 * Return how long a holder may rely on a lease: less 1 % + 2 ms, for clocks that run
	 * at different speeds and are read in milliseconds.
	 */
	static long validity(long ttlMillis) {
		return TimeUnit.MILLISECONDS.toNanos(ttlMillis) * 99 / 100 - TimeUnit.MILLISECONDS.toNanos(2);
	}

	/** Return until when the grant may be relied on. */
	abstract long validUntil();

	/** Note that no other keys are waited for any more: the time of its user begins. */
	final void endWaitForOthers(long now) {
		if (this.partial) {
			this.grantedAt = now;
			this.partial = false;
		}
	}

	/** Return whether other parts are still waited for. */
	final boolean isPartial() {
		return this.partial;
	}

	/**
	 * Return what the store knows it by, and how long at most: it may have been renewed
	 * by hand for longer than its lease time.
	 */
	final AcquireCommand toCommand(long now) {
		long millis = Math.max(this.request.leaseMillis(),
				TimeUnit.NANOSECONDS.toMillis(validUntil() - now) * 100 / 98);
		return new AcquireCommand(this.token, permits(), this.request.limit(), this.request.fair(), millis,
				this.request.claimMillis());
	}

	/** Return what lengthens it. */
	final Renewal renewalCommand(long millis) {
		return new Renewal(resource(), this.token, permits(), millis);
	}

	/** Return the number of permits. */
	final int permits() {
		return this.request.permits();
	}

	/** Return when it was granted or, of several together, when the last of them was. */
	final long grantedAt() {
		return this.grantedAt;
	}

	/** Return what was granted. */
	final Resource resource() {
		return this.request.resource();
	}

	/** Return what is held, for messages. */
	final String description() {
		return (resource().kind() == Kind.SEMAPHORE)
				? ((permits() == 1) ? "a permit" : permits() + " permits") + " of " + resource()
				: resource() + " (fence " + this.fence + ")";
	}

	/** Return what it is for, as a part of messages: an annotated method has a name. */
	final String purpose() {
		return (this.request.name() != null) ? ", for " + SingleLine.of(this.request.name()) + "," : "";
	}

	final void waiveMinHold() {
		this.minHoldWaived = true;
	}

	/**
	 * Have a minHold again, as its work is repeated.
	 * @return whether it had been waived
	 */
	final boolean restoreMinHold() {
		boolean waived = this.minHoldWaived;
		this.minHoldWaived = false;
		return waived;
	}

	/**
	 * Return how much of its minHold is left, in nanoseconds: negative if it is over, 0
	 * if it was waived, or other parts are still waited for.
	 */
	final long minHoldLeft(long now) {
		return (this.partial || this.minHoldWaived) ? 0 : this.grantedAt + this.request.minHoldNanos() - now;
	}

	/** Return how long it was held, by the time when that is asked. */
	final Duration heldFor(long now) {
		return Duration.ofNanos(Math.min(0, validUntil() - now) + now - this.grantedAt);
	}

}
