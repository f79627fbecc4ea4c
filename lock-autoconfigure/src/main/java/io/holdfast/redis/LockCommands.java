package io.holdfast.redis;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.KeyState;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.Resource;
import io.holdfast.redis.driver.ScriptCall.ReplyReader;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.script.Script;
import io.holdfast.redis.script.ScriptReplies;
import io.holdfast.redis.script.StoreScripts;
import org.jspecify.annotations.Nullable;

/**
 * The commands of exclusive locks. Thread-safe.
 */
final class LockCommands {

	// Linked when the application starts, and not in its first call.
	private static final Function<StoreScripts, Script> ACQUIRE = StoreScripts::acquire;

	private static final Function<StoreScripts, Script> RELEASE = StoreScripts::release;

	private static final ReplyReader<ReleaseReply> RELEASED = (reply, repeated, late) -> ScriptReplies
		.released(reply.get(0), null, repeated);

	private final ResourceScripts resources;

	LockCommands(ResourceScripts resources) {
		this.resources = resources;
	}

	/**
	 * Ask for a lock.
	 * @param mode how a waiter says that it waits; nothing if it does not
	 */
	CompletableFuture<AcquireReply> acquire(Resource lock, AcquireCommand command, String mode) {
		return this.resources.acquire(ACQUIRE, lock, command, command.token(), command.leaseMillis(),
				command.claimMillis(), mode);
	}

	/**
	 * End a token.
	 * @param next the token that is brought in, or {@code null}
	 * @param mode how that one waits
	 */
	CompletableFuture<ReleaseReply> release(Resource lock, AcquireCommand ended, @Nullable AcquireCommand next,
			String mode) {
		if (next == null) {
			return this.resources.send(RELEASE, lock, 0, RELEASED, ended.token());
		}
		ReplyReader<ReleaseReply> reply = (array, repeated, late) -> released(lock, array, repeated);
		return this.resources.send(RELEASE, lock, next.leaseMillis(), reply, ended.token(), next.token(),
				next.leaseMillis(), next.claimMillis(), mode);
	}

	private ReleaseReply released(Resource lock, List<?> reply, boolean repeated) {
		boolean noNext = reply.size() == 1 || ScriptReplies.number(reply.get(1)) == -1;
		AcquireReply next = noNext ? null : this.resources.replies().followed(lock, reply, 1);
		return ScriptReplies.released(reply.get(0), next, repeated);
	}

	/** End tokens in their names: one, as a lock has one owner. */
	CompletableFuture<List<Boolean>> force(Resource lock, List<String> tokens) {
		return this.resources.send(StoreScripts::endLock, lock, 0,
				(reply) -> reply.stream().map(ScriptReplies::flag).toList(), tokens.toArray());
	}

	CompletableFuture<KeyState> inspect(Resource lock) {
		String key = this.resources.options().keyOf(lock);
		return this.resources.executor().execute(Script.INSPECT, () -> {
			this.resources.options().check(lock);
			return RedisKeys.of(key, this.resources.isCluster()).toBytes();
		}, new Object[0], key, (reply) -> {
			Object owner = reply.get(0);
			return new KeyState((owner != null) ? ScriptReplies.text(owner) : null, ScriptReplies.flag(reply.get(4)),
					ScriptReplies.number(reply.get(1)), ScriptReplies.number(reply.get(2)),
					(int) ScriptReplies.number(reply.get(3)));
		});
	}

}
