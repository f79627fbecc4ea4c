package io.holdfast.redis;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.Stream;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.KeyState;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.redis.driver.ScriptCall.ReplyReader;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.script.Script;
import io.holdfast.redis.script.ScriptArguments;
import io.holdfast.redis.script.ScriptReplies;
import io.holdfast.redis.script.StoreScripts;
import org.jspecify.annotations.Nullable;

/**
 * The commands of locks. Thread-safe.
 */
final class LockCommands {

	private static final String READS = "r";

	// Linked when the application starts, and not in its first call.
	private static final Function<StoreScripts, Script> ACQUIRE = StoreScripts::acquire;

	private static final Function<StoreScripts, Script> RELEASE = StoreScripts::release;

	private final ResourceScripts resources;

	LockCommands(ResourceScripts resources) {
		this.resources = resources;
	}

	/** Return the argument of the scripts for the mode of a request. */
	private static String reads(AcquireCommand command) {
		return (command.permits() == 1) ? READS : ScriptArguments.NOTHING;
	}

	/** Return the entry of a token among the holders of a lock, or the owner. */
	static String holder(AcquireCommand command) {
		return (command.permits() == 1) ? command.token() + ":" + READS : command.token();
	}

	/**
	 * Ask for a lock.
	 * @param mode how a waiter says that it waits; nothing if it does not
	 */
	CompletableFuture<AcquireReply> acquire(Resource lock, AcquireCommand command, String mode) {
		return this.resources.acquire(ACQUIRE, lock, command, command.token(), reads(command), command.leaseMillis(),
				command.claimMillis(), mode);
	}

	/**
	 * End a token.
	 * @param next the token that is brought in, or {@code null}
	 * @param mode how that one waits
	 * @param notifications where grants to others of its instance go, which the answer
	 * tells of; {@code null} if it is another instance's
	 */
	CompletableFuture<ReleaseReply> release(Resource lock, AcquireCommand ended, @Nullable AcquireCommand next,
			String mode, @Nullable StoreNotifications notifications) {
		Object claim = (ended.permits() != 0) ? (Object) ended.claimMillis() : ScriptArguments.NOTHING;
		ReplyReader<ReleaseReply> reply = (array, repeated, late) -> this.resources.released(lock, array, repeated,
				notifications);
		return (next == null)
				? this.resources.send(RELEASE, lock, 0, reply, ended.token(), claim, reads(ended),
						notifications != null)
				: this.resources.send(RELEASE, lock, next.leaseMillis(), reply, ended.token(), claim, reads(ended),
						notifications != null, next.token(), reads(next), next.leaseMillis(), next.claimMillis(), mode);
	}

	/** End tokens in their names. */
	CompletableFuture<List<Boolean>> force(Resource lock, List<String> tokens) {
		return this.resources.send(RELEASE, lock, 0, (reply) -> reply.stream().map(ScriptReplies::flag).toList(),
				Stream.concat(Stream.of(ScriptArguments.NOTHING), tokens.stream()).toArray());
	}

	CompletableFuture<KeyState> inspect(Resource lock, int maxReaders) {
		String key = this.resources.options().keyOf(lock);
		return this.resources.executor().execute(Script.INSPECT, () -> {
			this.resources.options().check(lock);
			return RedisKeys.of(key, this.resources.isCluster()).toBytes();
		}, new Object[] { true, maxReaders, 0 }, key, StandingReplies::keyState);
	}

}
