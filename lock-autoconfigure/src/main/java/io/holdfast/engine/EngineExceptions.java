package io.holdfast.engine;

import java.time.Duration;

import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockHolder;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.async.CallResult;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import org.jspecify.annotations.Nullable;

/**
 * Creates the exceptions of failed requests and releases.
 */
public final class EngineExceptions {

	private static final String GRACE = "during the grace after a restart or fail-over of Redis, nothing new is granted"
			+ " (holdfast.redis.fail-over-grace)";

	private EngineExceptions() {
	}

	/** Return the exception for a request that ends without a lease. */
	static NotAcquiredException notAcquired(ResolvedRequest request, Reason reason, long waitedNanos,
			@Nullable Throwable cause) {
		return notAcquired(request, (request.limit() > 0) ? request.limit() : -1, reason, waitedNanos, cause);
	}

	/**
	 * Return the exception for a timeout of a lock.
	 * @param heldBy the exclusive holder, as text for the message
	 * @param holder the exclusive holder, or {@code null} if it is not known
	 */
	static NotAcquiredException timedOut(ResolvedRequest request, long waitedNanos, String heldBy,
			@Nullable LockHolder holder) {
		return new LockNotAcquiredException(request.resource().key(), Reason.TIMED_OUT, Duration.ofNanos(waitedNanos),
				null, heldBy, holder);
	}

	/**
	 * Return the exception for a timeout without a known exclusive holder.
	 * @param busy the last answer of the store, or {@code null}
	 */
	static NotAcquiredException timedOut(ResolvedRequest request, long waitedNanos, @Nullable Busy busy) {
		if (request.resource().kind() == Kind.LOCK) {
			return timedOut(request, waitedNanos, (busy != null) ? heldBy(request, busy) : "others", null);
		}
		if (busy != null && busy.inGrace()) {
			return new PermitNotAcquiredException(request.resource().key(), request.permits(), busy.limit(),
					Duration.ofNanos(waitedNanos), GRACE);
		}
		return (busy != null && busy.limit() > 0) ? new PermitNotAcquiredException(request.resource().key(),
				request.permits(), busy.limit(), busy.held(), Duration.ofNanos(waitedNanos))
				: notAcquired(request, Reason.TIMED_OUT, waitedNanos, null);
	}

	private static String heldBy(ResolvedRequest request, Busy busy) {
		if (busy.inGrace()) {
			return "owners that may not be known yet: " + GRACE;
		}
		if (busy.held() == 0) {
			return busy.foreign() ? "a client other than Holdfast" : "others";
		}
		return busy.held() + ((busy.held() == 1) ? " reader" : " readers")
				+ (request.reads() ? ", and others came first" : "");
	}

	/** Return the exception for a request for more permits than the limit. */
	static NotAcquiredException exceedsLimit(ResolvedRequest request, int limit, long waitedNanos) {
		boolean unknown = limit == 0 && request.limit() == 0;
		return notAcquired(request, unknown ? -1 : limit, Reason.EXCEEDS_LIMIT, waitedNanos, null);
	}

	private static NotAcquiredException notAcquired(ResolvedRequest request, int limit, Reason reason, long waitedNanos,
			@Nullable Throwable cause) {
		String key = request.resource().key();
		Duration waited = Duration.ofNanos(waitedNanos);
		return (request.resource().kind() == Kind.SEMAPHORE)
				? new PermitNotAcquiredException(key, request.permits(), limit, reason, waited, cause)
				: new LockNotAcquiredException(key, reason, waited, cause);
	}

	/**
	 * Return the exception for a request whose thread or context has a lost lease of the
	 * resource.
	 */
	static LeaseLostException lostBefore(Resource resource) {
		return new LeaseLostException(resource.key(), upper(resource)
				+ " was not acquired again: the caller's thread or context has a lost lease of it; release that lease first");
	}

	/**
	 * Return the exception for a key that was lost during the wait for other keys of the
	 * request.
	 */
	static LeaseLostException lostWhileWaiting(Resource resource, String description, String why) {
		return new LeaseLostException(resource.key(), "The lease of " + description
				+ " was lost while other keys of the same request were waited for, because " + why);
	}

	/**
	 * Return the exception for a request that ends because of a failure of the store.
	 * @param error the failure, or {@code null} if the store did not answer
	 * @param whySilent the reason for a missing answer; see
	 * {@link EngineContext#whySilent}
	 */
	static LeaseStoreException storeTrouble(Resource resource, long waitedNanos, @Nullable Throwable error,
			String whySilent) {
		Throwable cause = (error != null) ? CallResult.cause(error) : null;
		return new LeaseStoreException(
				resource.key(), upper(resource) + " was not acquired after " + Duration.ofNanos(waitedNanos).toMillis()
						+ " ms: " + ((cause != null) ? text(cause) : "the store (Redis) did not answer" + whySilent),
				cause);
	}

	/** Return the exception for an unconfirmed release. */
	static LeaseStoreException releaseTrouble(Resource resource, Throwable error) {
		return trouble(resource.key(), "The release of " + resource + " is not confirmed yet", error,
				". The release is repeated in the background; the lease ends with its lease time at the latest");
	}

	/**
	 * Return the exception for a release whose minHold is unconfirmed.
	 */
	static LeaseStoreException retentionTrouble(Resource resource, Throwable error) {
		return trouble(resource.key(), "The minHold of " + resource + " is not confirmed yet", error,
				". The command is repeated in the background; if that fails too, others are kept out until the lease ends");
	}

	/** Return the exception for a failed command on a resource. */
	static LeaseStoreException storeTrouble(Resource resource, String what, Throwable error) {
		return trouble(resource.key(), what + " of " + resource + " failed", error, "");
	}

	/**
	 * Return the exception for a failed command that may have changed the resource all
	 * the same.
	 */
	static LeaseStoreException changeTrouble(Resource resource, String what, Throwable error) {
		return trouble(resource.key(), what + " of " + resource + " failed", error,
				isTemporary(error) ? ". It is not known whether it was done" : "");
	}

	/** Return the exception for a failed command without a key. */
	public static LeaseStoreException storeTrouble(String what, Throwable error) {
		return trouble("*", what + " failed", error, "");
	}

	private static LeaseStoreException trouble(String key, String problem, Throwable error, String consequence) {
		Throwable cause = CallResult.cause(error);
		return new LeaseStoreException(key, problem + ": " + text(cause) + consequence, cause);
	}

	/** Return whether a repetition of the command may succeed. */
	public static boolean isTemporary(Throwable error) {
		return CallResult.cause(error) instanceof StoreCommandException failure && failure.isTemporary();
	}

	/**
	 * Return whether the error is a timeout of a command, whose answer may still arrive.
	 */
	public static boolean isSilence(Throwable error) {
		return CallResult.cause(error) instanceof StoreCommandException failure && failure.isSilence();
	}

	/**
	 * Return whether the store is expected to recover by itself, so that waiting makes
	 * sense.
	 */
	static boolean isWorthWaiting(Throwable error) {
		return CallResult.cause(error) instanceof StoreCommandException failure && failure.isWorthWaiting();
	}

	/** Return the message of an error's cause. */
	public static String text(Throwable error) {
		Throwable cause = CallResult.cause(error);
		return (cause.getMessage() != null) ? cause.getMessage() : cause.toString();
	}

	private static String upper(Resource resource) {
		String text = resource.toString();
		return Character.toUpperCase(text.charAt(0)) + text.substring(1);
	}

}
