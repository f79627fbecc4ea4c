package io.holdfast.engine;

import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

import io.holdfast.LockHolder;
import org.jspecify.annotations.Nullable;

/**
 * A membership without a register.
 *
 * @param admission completed once requests are admitted
 * @param holders the holders by the ids of their instances
 */
record ScriptedMembership(CompletableFuture<@Nullable Void> admission,
		Function<String, @Nullable LockHolder> holders) implements Membership {

	@Override
	public void join() {
	}

	@Override
	public CompletableFuture<@Nullable Void> leave() {
		return CompletableFuture.completedFuture(null);
	}

	@Override
	public CompletableFuture<@Nullable Void> requestAdmission() {
		return this.admission;
	}

	@Override
	public @Nullable String incompatibility() {
		return null;
	}

	@Override
	public @Nullable LockHolder holder(String instanceId) {
		return this.holders.apply(instanceId);
	}

}
