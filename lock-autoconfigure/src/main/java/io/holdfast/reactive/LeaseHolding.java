package io.holdfast.reactive;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LeaseRequest;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.ReleaseResult;
import io.holdfast.async.CallResult;
import io.holdfast.async.LeaseInternals;
import io.holdfast.async.SingleLine;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * Holding of the reactive services: a loss of the lease cancels the chain.
 *
 * @param <L> the type of the lease
 */
final class LeaseHolding<L extends Lease> extends Holding<L> {

	private static final Log logger = LogFactory.getLog(LeaseHolding.class);

	private final Function<LeaseContext, CompletableFuture<L>> service;

	LeaseHolding(Function<LeaseContext, CompletableFuture<L>> service) {
		this.service = service;
	}

	/** Return the request with a wait time of zero if it has no wait time. */
	static <R extends LeaseRequest<R>> R onceByDefault(R request) {
		Duration wait = request.waitTime();
		return (wait == null || wait.isZero()) ? request.waitTime(Duration.ZERO).optional() : request;
	}

	/** Acquire a lease that the subscriber must release. Empty after a timeout. */
	Mono<L> tryAcquisition() {
		return acquisition().onErrorResume(NotAcquiredException.class,
				(ex) -> (ex.getReason() == Reason.TIMED_OUT) ? Mono.empty() : Mono.error(ex));
	}

	@Override
	protected CompletableFuture<L> acquire(LeaseContext context) {
		return this.service.apply(context);
	}

	@Override
	protected LeaseContext inside(L held, LeaseContext outer) {
		return outer.with(held);
	}

	@Override
	protected void onLoss(L held, Runnable action) {
		held.onLost(action);
	}

	@Override
	protected CompletableFuture<@Nullable Throwable> end(L held, @Nullable Throwable failure, boolean completed) {
		if (!completed && held instanceof LockLease lock) {
			lock.waiveMinHold();
		}
		String why = whyNotHeld(held);
		if (held instanceof LeaseInternals own) {
			Throwable error = (why.isEmpty() || own.isReleased()) ? failure : lost(held, why, failure);
			return own.sendReleaseAsync().thenApply((sent) -> error);
		}
		// Use follow, because a mock of a lease may return no future, and the chain waits
		// for the result.
		return CallResult.<ReleaseResult>follow(held::releaseAsync).handle((result, error) -> {
			if (error != null) {
				notReleased(held, error);
			}
			return (result == ReleaseResult.LOST) ? lost(held, why, failure) : failure;
		});
	}

	/**
	 * Log a failed release, as close() does. The lease counts as released all the same.
	 */
	private static void notReleased(Lease held, Throwable error) {
		logger.warn("A lease of '" + SingleLine.of(held.key()) + "' was not released at once; it ends by itself",
				error);
	}

	/**
	 * Return the reason why the lease is not held, as the end of a message, or an empty
	 * text if it is held. Called before the release, which would become the reason.
	 */
	private static String whyNotHeld(Lease held) {
		try {
			held.ensureHeld();
			return "";
		}
		catch (LeaseLostException ex) {
			return ". " + ex.getMessage();
		}
	}

	private static Throwable lost(Lease held, String why, @Nullable Throwable failure) {
		LeaseLostException lost = new LeaseLostException(held.key(), "The lease of '" + held.key()
				+ "' was lost before the chain under it had ended: others may have held it at the same time" + why);
		if (failure == null) {
			return lost;
		}
		failure.addSuppressed(lost);
		return failure;
	}

}
