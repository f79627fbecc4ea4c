package io.holdfast.engine;

import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Tokens;

/**
 * Releases leases of any instance by force. Blocks until the store answers. Thread-safe.
 */
final class ForcedRelease {

	/** Reason of the loss, for messages. */
	static final String FORCED = "it was released by force";

	/**
	 * Maximum number of leases per command, so that one script does not block the store
	 * for long.
	 */
	private static final int BATCH = 1000;

	private final EngineContext context;

	private final LeaseRenewer renewer;

	private final TokenReleases releases;

	/** Create the forced release of an instance. */
	ForcedRelease(ResourceQueues queues) {
		this.context = queues.context;
		this.renewer = queues.renewer;
		this.releases = queues.releases;
	}

	/**
	 * Release all holders of a semaphore, or all readers of a lock. Does not release
	 * waiters that are granted during the release.
	 * @return the number of released holders
	 */
	int releaseAll(Resource resource) {
		// Read all holders before the first release, as each release admits waiters.
		Standing standing = this.context.awaitAnswer(this.context.inspect(resource, Integer.MAX_VALUE, 0), resource,
				"The inspection");
		if (standing.owner() != null) {
			return 0;
		}
		List<String> tokens = standing.holders().stream().map(TokenState::token).filter(Tokens::isToken).toList();
		int count = 0;
		for (int from = 0; from < tokens.size(); from += BATCH) {
			count += release(resource, tokens.subList(from, Math.min(from + BATCH, tokens.size())));
		}
		return count;
	}

	/**
	 * Release an exclusive lock.
	 * @return whether the token held the lock
	 */
	boolean release(Resource resource, String token) {
		return release(resource, List.of(token)) == 1;
	}

	private int release(Resource resource, List<String> tokens) {
		CompletableFuture<List<Boolean>> answer = new CompletableFuture<>();
		this.releases.beginEnding(tokens);
		// End the holds first: other owners may get the leases as soon as the command
		// runs.
		this.renewer.loseBefore(tokens, FORCED, () -> send(resource, tokens, answer));
		List<Boolean> released = this.context.awaitAnswerToChange(answer, resource, "The forced release");
		int count = 0;
		for (int i = 0; i < tokens.size(); i++) {
			if (released.get(i)) {
				// The token may belong to a waiter of this instance that was granted the
				// lease during the release.
				this.renewer.onTokenLost(tokens.get(i), FORCED);
				count++;
			}
		}
		return count;
	}

	private void send(Resource resource, List<String> tokens, CompletableFuture<List<Boolean>> answer) {
		CompletableFuture<List<Boolean>> sent = this.context.sendInTime(Command.RELEASE,
				() -> this.context.store.force(resource, tokens));
		sent.whenComplete((released, error) -> {
			this.releases.finishEnding(tokens);
			if (error == null) {
				answer.complete(released);
			}
			else {
				answer.completeExceptionally(error);
			}
		});
	}

}
