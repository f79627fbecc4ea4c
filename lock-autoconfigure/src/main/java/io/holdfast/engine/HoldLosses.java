package io.holdfast.engine;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import io.holdfast.LeaseLostEvent;
import io.holdfast.ReleaseResult;
import io.holdfast.engine.EngineObserver.HoldEnd;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.Resource.Kind;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * The reports of holds that were lost: to the log, the listener, the observers, the
 * actions of users, and the queue. Thread-safe.
 */
final class HoldLosses {

	static final String OTHER_OWNER = "the store says that it has another owner, or none";

	private static final Log logger = LogFactory.getLog(HoldLosses.class);

	private final EngineContext context;

	private volatile Consumer<LeaseLostEvent> listener = (event) -> {
	};

	/** Create the reports of an instance. */
	HoldLosses(EngineContext context) {
		this.context = context;
	}

	/** Set the listener, which is called on a thread that may block. */
	void setListener(Consumer<LeaseLostEvent> listener) {
		this.listener = listener;
	}

	/**
	 * Report a hold that was just lost.
	 * @param hold the hold
	 * @param why the reason, in words
	 * @param consequence the meaning for others, in words
	 * @param actions the actions of users
	 */
	void reportLost(Hold hold, String why, String consequence, List<Runnable> actions) {
		long now = this.context.scheduler.nanoTime();
		String message = "The lease of " + hold.description() + hold.purpose() + " was lost after "
				+ hold.heldFor(now).toMillis() + " ms: " + why + ". " + consequence;
		HoldEnd end = hold.hasRunOut(now) ? HoldEnd.EXPIRED : HoldEnd.LOST;
		try {
			if (end == HoldEnd.EXPIRED) {
				// Perhaps as it was meant to: only its late release is warned of.
				logger.debug(message);
			}
			else {
				logger.warn(message);
				publish(hold, why);
			}
		}
		finally {
			// Also if an appender throws.
			actions.forEach(this.context::callOnLoss);
			hold.queue.execute(() -> {
				hold.tellEnded(end);
				hold.queue.onHoldLost(hold);
			});
		}
	}

	/**
	 * Return the result of a release by the store's answer. A token that held nothing is
	 * a loss which was not noticed before; unless its time may have been over when the
	 * command ran, or the answer may be that to a copy of the command.
	 */
	ReleaseResult judgeRelease(Hold hold, ReleaseReply reply) {
		long now = this.context.scheduler.nanoTime();
		if (!reply.foundNothing() || !hold.isUsed() || hold.grantedUntil() - now <= 0) {
			return ReleaseResult.RELEASED;
		}
		String why = OTHER_OWNER;
		List<Runnable> actions = hold.markLost(why);
		logger.warn("The lease of " + hold.description() + hold.purpose() + " was lost before it was released, after "
				+ hold.heldFor(now).toMillis() + " ms: " + why + ". Another owner may have held it before");
		publish(hold, why);
		actions.forEach(this.context::callOnLoss);
		return ReleaseResult.LOST;
	}

	/** Report a hold that nothing renews, and whose time was over before its release. */
	void reportRunOut(Hold hold) {
		String why = "the work took longer than the lease time of " + hold.request.leaseMillis() + " ms"
				+ ((hold.lossMargin() > 0)
						? ", less its loss margin of " + TimeUnit.NANOSECONDS.toMillis(hold.lossMargin()) + " ms" : "");
		logger.warn("The lease of " + hold.description() + hold.purpose() + " was over before it was released, after "
				+ TimeUnit.NANOSECONDS.toMillis(this.context.scheduler.nanoTime() - hold.grantedAt()) + " ms: " + why);
		publish(hold, why);
	}

	/** Publish a loss to the observers and the listener, once. */
	private void publish(Hold hold, String why) {
		if (!hold.markLossReported()) {
			return;
		}
		this.context.observers.lost(hold.resource(), hold.request.name());
		boolean semaphore = hold.resource().kind() == Kind.SEMAPHORE;
		LeaseLostEvent event = new LeaseLostEvent(hold.resource().key(), hold.request.name(),
				semaphore ? hold.permits() : 0, hold.heldFor(this.context.scheduler.nanoTime()), why);
		this.context.callListener(() -> this.listener.accept(event));
	}

}
