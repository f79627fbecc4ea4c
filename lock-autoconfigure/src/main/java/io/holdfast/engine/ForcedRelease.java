package io.holdfast.engine;

import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.store.LeaseStore.KeyState;
import io.holdfast.engine.store.LeaseStore.PermitHolder;
import io.holdfast.engine.store.LeaseStore.PermitState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;

/**
 * Releases leases of any instance, in its name. Blocks until the store answers.
 * Thread-safe.
 */
final class ForcedRelease {

	/** The reason of the loss, in words. */
	static final String FORCED = "it was released by force";

	/** So that one script does not keep the store from serving others for long. */
	private static final int BATCH = 1000;

	private final EngineContext context;

	private final LeaseRenewer renewer;

	private final TokenReleases releases;

	/** Create the forced releases of an instance. */
	ForcedRelease(ResourceQueues queues) {
		this.context = queues.context;
		this.renewer = queues.renewer;
		this.releases = queues.releases;
	}

	/**
	 * Release the holders of a semaphore, or the readers of a lock. Waiters that are let
	 * in are not released.
	 * @return how many were released
	 */
	int releaseAll(Resource resource) {
		// All before the first is released: each release lets others in.
		List<String> tokens = this.context.awaitAnswer(holders(resource), resource, "The inspection")
			.stream()
			.map(PermitHolder::token)
			.toList();
		int all = 0;
		for (int from = 0; from < tokens.size(); from += BATCH) {
			all += release(resource, tokens.subList(from, Math.min(from + BATCH, tokens.size())));
		}
		return all;
	}

	private CompletableFuture<List<PermitHolder>> holders(Resource resource) {
		int all = Integer.MAX_VALUE;
		return (resource.kind() == Kind.LOCK)
				? this.context.sendInTime(Command.INSPECT, () -> this.context.store.inspect(resource, all))
					.thenApply(KeyState::readers)
				: this.context.sendInTime(Command.INSPECT, () -> this.context.store.inspectPermits(resource, all))
					.thenApply(PermitState::holders);
	}

	/**
	 * Release an exclusive lock.
	 * @return whether the token held it
	 */
	boolean release(Resource resource, String token) {
		return release(resource, List.of(token)) == 1;
	}

	private int release(Resource resource, List<String> tokens) {
		CompletableFuture<List<Boolean>> answer = new CompletableFuture<>();
		this.releases.beginEnding(tokens);
		// Others may have the leases as soon as the command runs.
		this.renewer.loseBefore(tokens, FORCED, () -> send(resource, tokens, answer));
		List<Boolean> released = this.context.awaitAnswerToChange(answer, resource, "The forced release");
		int count = 0;
		for (int i = 0; i < tokens.size(); i++) {
			if (released.get(i)) {
				// Granted to a waiter here, which had not learnt of it before.
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
