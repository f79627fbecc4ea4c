package io.holdfast.engine;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;

import io.holdfast.LockHolder;
import io.holdfast.NotAcquiredException;
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
 * exception tells of it. The holder costs a command, and is that of a moment later.
 * Thread-safe.
 */
final class RefusalLog {

	private static final Log logger = LogFactory.getLog(RefusalLog.class);

	/** The number of holders of permits that a line names. */
	private static final int MAX_HOLDERS = 3;

	private final EngineContext context;

	private final LeaseRenewer renewer;

	RefusalLog(EngineContext context, LeaseRenewer renewer) {
		this.context = context;
		this.renewer = renewer;
	}

	/** Log the refusal of an optional request. */
	void follow(List<ResolvedRequest> requests, PendingAcquisition acquisition) {
		if (logger.isDebugEnabled()) {
			// Logging may block.
			acquisition.result().whenCompleteAsync((lease, error) -> {
				if (error instanceof NotAcquiredException refusal) {
					log(requests, refusal);
				}
			}, this.context::execute);
		}
	}

	private void log(List<ResolvedRequest> requests, NotAcquiredException refusal) {
		String name = requests.get(0).name();
		switch (refusal.getReason()) {
			case TIMED_OUT ->
				holder(resource(requests, refusal)).whenComplete((holder,
						error) -> this.context.execute(() -> logger.debug("Skipped" + ((name != null) ? " " + name : "")
								+ ": " + refusal.getMessage() + ". Holder: "
								+ ((error != null) ? "not known, as " + EngineExceptions.text(error) : holder))));
			case SHUTDOWN, EXCEEDS_LIMIT, TOO_MANY_WAITERS ->
				logger.debug(((name != null) ? name + ": " : "") + refusal.getMessage());
			case INTERRUPTED, SELF_BLOCKED -> {
				// The caller gets an exception, or has gone.
			}
		}
	}

	/** Return the refused one of several keys. */
	private static Resource resource(List<ResolvedRequest> requests, NotAcquiredException refusal) {
		return requests.stream()
			.map(ResolvedRequest::resource)
			.filter((resource) -> resource.key().equals(refusal.getKey()))
			.findFirst()
			.orElse(requests.get(0).resource());
	}

	private CompletableFuture<String> holder(Resource resource) {
		if (resource.kind() == Kind.SEMAPHORE) {
			return holders(resource);
		}
		CompletableFuture<KeyState> answer = this.context.sendInTime(Command.INSPECT,
				() -> this.context.store.inspect(resource, MAX_HOLDERS));
		return answer.thenApply(this::holder);
	}

	private String holder(KeyState state) {
		String owner = state.owner();
		if (owner == null) {
			return named(state.readers(), state.readerCount());
		}
		return holder(owner) + ((Tokens.isToken(owner) && state.fence() > 0) ? ", fencing token " + state.fence() : "")
				+ remaining(state.ttlMillis());
	}

	private CompletableFuture<String> holders(Resource resource) {
		CompletableFuture<PermitState> answer = this.context.sendInTime(Command.INSPECT,
				() -> this.context.store.inspectPermits(resource, MAX_HOLDERS));
		return answer.thenApply((state) -> named(state.holders(), state.holderCount()));
	}

	private String named(List<PermitHolder> holders, int count) {
		String named = holders.stream().map(this::holder).collect(Collectors.joining("; "));
		int more = count - holders.size();
		return named.isEmpty() ? "none any more" : named + ((more > 0) ? "; " + more + " more" : "");
	}

	private String holder(PermitHolder holder) {
		return holder(holder.token()) + remaining(holder.ttlMillis());
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
