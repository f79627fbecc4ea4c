package io.holdfast.engine;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.holdfast.LockHolder;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.NotAcquiredException;
import io.holdfast.async.BoundedExecutor;
import io.holdfast.async.SingleLine;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.store.LeaseStore.KeyState;
import io.holdfast.engine.store.LeaseStore.PermitHolder;
import io.holdfast.engine.store.LeaseStore.PermitState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.Tokens;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Logs each refusal of an optional request at the level DEBUG, with the holder: no
 * exception tells of it. The details of the holder cost a command, and are those of a
 * moment later. Grants to this instance after the refusal are left out. Thread-safe.
 */
final class RefusalLog {

	private static final Log logger = LogFactory.getLog(RefusalLog.class);

	/** The number of holders of permits that a line names. */
	private static final int MAX_HOLDERS = 3;

	private final EngineContext context;

	private final LeaseRenewer renewer;

	/** Logging may block, and thousands of requests be refused at once. */
	private final BoundedExecutor thread;

	RefusalLog(EngineContext context, LeaseRenewer renewer) {
		this.context = context;
		this.thread = new BoundedExecutor(context::execute, 1);
		this.renewer = renewer;
	}

	/** Log the refusal of an optional request. */
	void follow(List<ResolvedRequest> requests, PendingAcquisition acquisition) {
		if (logger.isDebugEnabled()) {
			acquisition.result().whenComplete((lease, error) -> {
				if (error instanceof NotAcquiredException refusal) {
					long refusedAt = this.context.scheduler.nanoTime();
					this.thread.execute(() -> log(requests, refusal, refusedAt));
				}
			});
		}
	}

	private void log(List<ResolvedRequest> requests, NotAcquiredException refusal, long refusedAt) {
		String name = requests.get(0).name();
		switch (refusal.getReason()) {
			case TIMED_OUT ->
				holder(resource(requests, refusal), refusal, refusedAt).whenComplete((holder,
						error) -> this.thread.execute(() -> debug("Skipped" + ((name != null) ? " " + name : "") + ": "
								+ refusal.getMessage() + ". Holder: "
								+ ((error != null) ? "not known, as " + EngineExceptions.text(error) : holder))));
			case SHUTDOWN, EXCEEDS_LIMIT, TOO_MANY_WAITERS ->
				debug(((name != null) ? name + ": " : "") + refusal.getMessage());
			case INTERRUPTED, SELF_BLOCKED -> {
				// The caller gets an exception, or has gone.
			}
		}
	}

	private static void debug(String line) {
		logger.debug(SingleLine.of(line));
	}

	/** Return the refused one of several keys. */
	private static Resource resource(List<ResolvedRequest> requests, NotAcquiredException refusal) {
		return requests.stream()
			.map(ResolvedRequest::resource)
			.filter((resource) -> resource.key().equals(refusal.getKey()))
			.findFirst()
			.orElse(requests.get(0).resource());
	}

	private CompletableFuture<String> holder(Resource resource, NotAcquiredException refusal, long refusedAt) {
		if (resource.kind() == Kind.SEMAPHORE) {
			CompletableFuture<PermitState> answer = this.context.sendInTime(Command.INSPECT,
					() -> this.context.store.inspectPermits(resource, MAX_HOLDERS));
			return answer.thenApply((state) -> named(state.holders(), state.holderCount(), refusedAt));
		}
		LockHolder told = (refusal instanceof LockNotAcquiredException ex) ? ex.getHolder() : null;
		CompletableFuture<KeyState> answer = this.context.sendInTime(Command.INSPECT,
				() -> this.context.store.inspect(resource, MAX_HOLDERS));
		return answer.thenApply((state) -> holder(state, told, refusedAt));
	}

	/**
	 * Return the exclusive holder, or the readers.
	 * @param told the holder at the refusal, or {@code null} if that is not known
	 */
	private String holder(KeyState state, @Nullable LockHolder told, long refusedAt) {
		String owner = state.owner();
		if (owner != null && isLater(owner, refusedAt)) {
			owner = null;
		}
		if (told != null && (owner == null || !isOf(owner, told))) {
			return "instance " + told.instance() + named(told);
		}
		if (owner == null) {
			return named(state.readers(), state.readerCount(), refusedAt);
		}
		return holder(owner) + ((Tokens.isToken(owner) && state.fence() > 0) ? ", fencing token " + state.fence() : "")
				+ remaining(state.ttlMillis());
	}

	private static boolean isOf(String owner, LockHolder holder) {
		return Tokens.isToken(owner) && Tokens.shownInstance(owner).equals(holder.instance());
	}

	/** Return whether this instance was granted it after the refusal. */
	private boolean isLater(String token, long refusedAt) {
		Hold own = this.renewer.find(token);
		return own != null && own.grantedAt() - refusedAt >= 0;
	}

	private String named(List<PermitHolder> holders, int count, long refusedAt) {
		String more = (count > holders.size()) ? (count - holders.size()) + " more" : "";
		String named = Stream
			.concat(holders.stream()
				.filter((holder) -> !isLater(holder.token(), refusedAt))
				.map((holder) -> holder(holder.token()) + remaining(holder.ttlMillis())), Stream.of(more))
			.filter((text) -> !text.isEmpty())
			.collect(Collectors.joining("; "));
		return named.isEmpty() ? "none any more" : named;
	}

	private String holder(String owner) {
		if (!Tokens.isToken(owner)) {
			return "a client other than Holdfast";
		}
		Hold own = this.renewer.find(owner);
		return (this.context.isOwn(owner) ? "this instance" : "instance " + Tokens.shownInstance(owner))
				+ named(this.context.holder(Tokens.instance(owner))) + thread(own);
	}

	private static String named(@Nullable LockHolder holder) {
		return (holder != null) ? " (application " + holder.application() + ", host " + holder.host() + ", process "
				+ holder.process() + ")" : "";
	}

	private static String thread(@Nullable Hold own) {
		return (own != null && own.thread != null) ? ", thread '" + own.thread.getName() + "'" : "";
	}

	private static String remaining(long millis) {
		return (millis > 0) ? ", for " + millis + " ms if not renewed" : "";
	}

}
