package io.holdfast.reactive;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

import io.holdfast.Lease;
import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostException;
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
 * Holds a lease around a chain, and lets it end with its lease.
 *
 * @param <L> the type of the lease
 */
final class LeaseHolding<L extends Lease> extends Holding<L> {

	private static final Log logger = LogFactory.getLog(LeaseHolding.class);

	private final Function<LeaseContext, CompletableFuture<L>> service;

	LeaseHolding(Function<LeaseContext, CompletableFuture<L>> service) {
		this.service = service;
	}

	/** Return a request that does not wait unless it has a wait time of its own. */
	static <R extends LeaseRequest<R>> R onceByDefault(R request) {
		Duration wait = request.waitTime();
		return (wait == null || wait.isZero()) ? request.waitTime(Duration.ZERO).optional() : request;
	}

	/** Acquire alone; empty if others held it until the wait time was over. */
	Mono<L> tryAcquisition() {
		return acquisition().onErrorResume(NotAcquiredException.class,
				(ex) -> (ex.getReason() == Reason.TIMED_OUT) ? Mono.empty() : Mono.error(ex));
	}

	@Override
	protected CompletableFuture<L> acquire(LeaseContext context) {
		return this.service.apply(context);
	}

	@Override
	protected boolean endsOnLoss() {
		return true;
	}

	@Override
	protected CompletableFuture<@Nullable Throwable> end(L held, @Nullable Throwable failure) {
		String why = whyNotHeld(held);
		if (held instanceof LeaseInternals own) {
			Throwable told = (why.isEmpty() || own.isReleased()) ? failure : lost(held, why, failure);
			return own.sendReleaseAsync().thenApply((sent) -> told);
		}
		// Perhaps there is no future, if the lease is a mock: the chain waits for this.
		return CallResult.<ReleaseResult>follow(held::releaseAsync).handle((result, error) -> {
			if (error != null) {
				notReleased(held, error);
			}
			return (result == ReleaseResult.LOST) ? lost(held, why, failure) : failure;
		});
	}

	/** As close() does it: the lease counts as released all the same. */
	private static void notReleased(Lease held, Throwable error) {
		logger.warn("A lease of '" + SingleLine.of(held.key()) + "' was not released at once; it ends by itself",
				error);
	}

	/** To be asked before the release, after which that is the reason. */
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
