package io.holdfast.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.Stream;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.PermitHolder;
import io.holdfast.engine.store.LeaseStore.PermitState;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.redis.driver.ScriptCall.ReplyReader;
import io.holdfast.redis.script.Script;
import io.holdfast.redis.script.ScriptArguments;
import io.holdfast.redis.script.ScriptReplies;
import io.holdfast.redis.script.StoreScripts;
import org.jspecify.annotations.Nullable;

/**
 * The commands of semaphores. Thread-safe.
 */
final class PermitCommands {

	private final ResourceScripts resources;

	PermitCommands(ResourceScripts resources) {
		this.resources = resources;
	}

	CompletableFuture<AcquireReply> acquire(Resource resource, AcquireCommand command, String mode, boolean enqueue) {
		return this.resources.acquire(StoreScripts::acquirePermits, resource, command,
				withResource(resource, arguments(command, mode, enqueue)));
	}

	/** Return the arguments of a request as permits-acquire.lua takes them. */
	private static Object[] arguments(AcquireCommand command, String mode, boolean enqueue) {
		return new Object[] { command.token(), command.permits(), command.limit(), command.fair(),
				command.leaseMillis(), command.claimMillis(), mode, enqueue };
	}

	/**
	 * End a token.
	 * @param ended the token that ends
	 * @param next the token that is brought in, or {@code null}
	 * @param mode how that one waits
	 * @param notifications where grants to others of its instance go, which the answer
	 * tells of: each by a message would cost more than the command; {@code null} if it is
	 * another instance's
	 */
	CompletableFuture<ReleaseReply> release(Resource resource, AcquireCommand ended, @Nullable AcquireCommand next,
			String mode, @Nullable StoreNotifications notifications) {
		Object[] asks = (next != null) ? arguments(next, mode, true) : new Object[0];
		Object[] args = new Object[asks.length + 2];
		args[0] = ended.token();
		args[1] = notifications != null;
		System.arraycopy(asks, 0, args, 2, asks.length);
		ReplyReader<ReleaseReply> reply = (array, repeated, late) -> this.resources.released(resource, array, repeated,
				notifications);
		return change(StoreScripts::releasePermits, resource, (next != null) ? next.leaseMillis() : 0, reply, args);
	}

	CompletableFuture<List<Boolean>> force(Resource resource, List<String> tokens) {
		return change(StoreScripts::releasePermits, resource, 0,
				(reply) -> reply.stream().map(ScriptReplies::flag).toList(),
				Stream.concat(Stream.of(ScriptArguments.NOTHING), tokens.stream()).toArray());
	}

	CompletableFuture<Boolean> limit(Resource resource, @Nullable Integer limit) {
		return change(StoreScripts::limit, resource, 0, (reply) -> ScriptReplies.flag(reply.get(0)),
				(limit != null) ? limit.toString() : ScriptArguments.NOTHING);
	}

	private <T> CompletableFuture<T> change(Function<StoreScripts, Script> script, Resource resource, long leaseMillis,
			Function<List<?>, T> reply, Object... own) {
		return this.resources.send(script, resource, leaseMillis, reply, withResource(resource, own));
	}

	private static Object[] withResource(Resource resource, Object... own) {
		Object[] args = new Object[own.length + 1];
		args[0] = resource.key();
		System.arraycopy(own, 0, args, 1, own.length);
		return args;
	}

	CompletableFuture<PermitState> inspect(Resource resource, int maxHolders) {
		return this.resources.executor()
			.execute(Script.INSPECT, () -> this.resources.permitKeys(resource).toBytes(),
					new Object[] { false, maxHolders, 0 }, this.resources.options().keyOf(resource),
					PermitCommands::state);
	}

	private static PermitState state(List<?> reply) {
		Object limit = reply.get(0);
		List<PermitHolder> holders = new ArrayList<>();
		long named = ScriptReplies.number(reply.get(5));
		for (int i = 6; i < 6 + 2 * named; i += 2) {
			PermitHolder holder = StandingReplies.holder(reply.get(i), Kind.SEMAPHORE,
					ScriptReplies.number(reply.get(i + 1)));
			if (holder != null) {
				holders.add(holder);
			}
		}
		return new PermitState((limit != null) ? (int) ScriptReplies.number(limit) : null,
				(int) ScriptReplies.number(reply.get(1)), (int) ScriptReplies.number(reply.get(2)),
				(int) ScriptReplies.number(reply.get(3)), List.copyOf(holders),
				(int) ScriptReplies.number(reply.get(4)));
	}

}
