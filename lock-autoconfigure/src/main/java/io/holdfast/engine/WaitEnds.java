package io.holdfast.engine;

import io.holdfast.engine.store.StoreCommandException;
import org.jspecify.annotations.Nullable;

/**
 * The rules for the end of a wait in vain: its time, and its reason, which is another
 * holder or the store. They change nothing.
 *
 * <p>
 * Each is about a waiter and its place: the place that serves it or, if none does, the
 * first one before it. Without any place the waiter waits for a hold of this instance.
 */
final class WaitEnds {

	private final EngineContext context;

	private final TokenReleases releases;

	WaitEnds(EngineContext context, TokenReleases releases) {
		this.context = context;
		this.releases = releases;
	}

	/** Return why a wait is over, or {@code null} if it is not. */
	@Nullable RuntimeException whyOver(Waiter waiter, @Nullable Place place, long now) {
		if (now - deadline(waiter, place) >= 0) {
			return whyTimedOut(waiter, place, now);
		}
		if (!waiter.request.waits() || place == null || place.busy) {
			return null;
		}
		long unreached = this.context.store.unreachedNanos();
		if (unreached > 0 && now - ResourceQueue.later(waiter.startedAt, now - unreached) >= patience()) {
			return waiter.storeTrouble(unreached());
		}
		Throwable trouble = place.trouble;
		if (trouble == null || EngineExceptions.isWorthWaiting(trouble)) {
			return null;
		}
		long since = ResourceQueue.later(waiter.arrivedAt, place.firstAskedAt);
		if (unreached > 0) {
			since = ResourceQueue.later(since, now - unreached);
		}
		return (place.failedAt - since >= patience()) ? waiter.storeTrouble(trouble) : null;
	}

	/** Return a time before which a wait is not over, unless a failure comes. */
	long lookAgainAt(Waiter waiter, @Nullable Place place, long now) {
		long unreached = this.context.store.unreachedNanos();
		long outageEndsAt = ResourceQueue.later(waiter.startedAt, now - unreached) + patience();
		if (unreached == 0 || outageEndsAt - now <= 0) {
			// The connection may be lost at any time from now on.
			outageEndsAt = now + Math.max(patience(), this.context.settings.retryInterval().toNanos());
		}
		return ResourceQueue.earlier(deadline(waiter, place), outageEndsAt);
	}

	/**
	 * Return the deadline. It leaves time for one answer: without one, nothing is known.
	 */
	private static long deadline(Waiter waiter, @Nullable Place place) {
		return (place != null && place.isAwaitingFirst()) ? waiter.endsAt()
				: waiter.startedAt + waiter.request.waitNanos();
	}

	/** Return the reason at the deadline. */
	RuntimeException whyTimedOut(Waiter waiter, @Nullable Place place, long now) {
		if (place == null) {
			return waiter.timedOut();
		}
		boolean metNothing = place == waiter.place && !waiter.hasMetOthersAt(place);
		if (metNothing || place.isSilent(this.context, now, waiter.request.waitNanos())) {
			return waiter.storeTrouble(place.reason());
		}
		// The holder may be this instance, whose release has failed.
		Throwable trouble = this.releases.failure(waiter.request.resource());
		return (trouble != null) ? waiter.storeTrouble(trouble) : waiter.timedOut();
	}

	private long patience() {
		return this.context.settings.outagePatience().toNanos();
	}

	private StoreCommandException unreached() {
		StoreCommandException unreached = StoreCommandException.unreached(this.context.settings.outagePatience());
		return this.context.isAdmitted() ? unreached : StoreCommandException.notCompared(unreached);
	}

}
