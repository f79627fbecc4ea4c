package io.holdfast.redis;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.Stream;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.redis.driver.ScriptCall.ReplyReader;
import io.holdfast.redis.driver.ScriptExecutor;
import io.holdfast.redis.key.PermitKeys;
import io.holdfast.redis.key.RedisKeyCache;
import io.holdfast.redis.key.RedisKeyCache.Name;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.script.Script;
import io.holdfast.redis.script.ScriptArguments;
import io.holdfast.redis.script.ScriptReplies;
import io.holdfast.redis.script.StoreScripts;
import org.jspecify.annotations.Nullable;

/**
 * The commands of locks and semaphores: their scripts with KEYS and ARGV, and the readers
 * of their replies. The scripts of semaphores have the key as ARGV 1. Thread-safe.
 */
final class ResourceCommands {

	private static final String READS = "r";

	// Linked when the application starts, and not in its first call.
	private static final Function<StoreScripts, Script> ACQUIRE = StoreScripts::acquire;

	private static final Function<StoreScripts, Script> RELEASE = StoreScripts::release;

	private final RedisStoreOptions options;

	private final boolean cluster;

	private final ScriptExecutor executor;

	private final ScriptReplies replies;

	private final StoreScripts scripts;

	private final RedisKeyCache names;

	/** By slot of the key. */
	private final IntFunction<@Nullable StoreScripts> shards;

	ResourceCommands(RedisStoreOptions options, boolean cluster, ScriptExecutor executor,
			IntFunction<@Nullable StoreScripts> shards) {
		this.shards = shards;
		this.options = options;
		this.cluster = cluster;
		this.executor = executor;
		this.replies = new ScriptReplies(options);
		this.scripts = StoreScripts.of(options, cluster);
		this.names = new RedisKeyCache(options, cluster);
	}

	private static boolean isLock(Resource resource) {
		return resource.kind() == Kind.LOCK;
	}

	/** Return the key of the holders; fails if the resource is refused. */
	String holdersKey(Resource resource) {
		return isLock(resource) ? this.options.keyOf(resource) : permitKeys(resource).holders();
	}

	/** Return the entry of a request among the holders. */
	static String holder(Resource resource, AcquireCommand command) {
		return isLock(resource) ? (command.permits() == 1) ? command.token() + ":" + READS : command.token()
				: command.token() + ":" + command.permits();
	}

	private PermitKeys permitKeys(Resource resource) {
		this.options.check(resource);
		return PermitKeys.of(this.options.keyOf(resource), this.cluster);
	}

	/**
	 * Ask for a lease.
	 * @param mode how a waiter says that it waits
	 */
	CompletableFuture<AcquireReply> acquire(Resource resource, AcquireCommand command, String mode, boolean enqueue) {
		return send(isLock(resource) ? ACQUIRE : StoreScripts::acquirePermits, resource, command.leaseMillis(),
				(reply) -> this.replies.acquired(resource, reply, command.leaseMillis()),
				request(resource, command, mode, enqueue));
	}

	private static Object[] request(Resource resource, AcquireCommand command, String mode, boolean enqueue) {
		return isLock(resource)
				? new Object[] { command.token(), reads(command), command.leaseMillis(), command.claimMillis(),
						enqueue ? mode : ScriptArguments.NOTHING }
				: new Object[] { command.token(), command.permits(), command.limit(), command.fair(),
						command.leaseMillis(), command.claimMillis(), mode, enqueue };
	}

	private static String reads(AcquireCommand command) {
		return (command.permits() == 1) ? READS : ScriptArguments.NOTHING;
	}

	/**
	 * End a token.
	 * @param next the token that is brought in, or {@code null}
	 * @param mode how that one waits
	 * @param notifications where grants to others of its instance go, which the answer
	 * tells of: each by a message would cost more than the command; {@code null} if it is
	 * another instance's
	 */
	CompletableFuture<ReleaseReply> release(Resource resource, AcquireCommand ended, @Nullable AcquireCommand next,
			String mode, @Nullable StoreNotifications notifications) {
		Object claim = (ended.permits() != 0) ? (Object) ended.claimMillis() : ScriptArguments.NOTHING;
		Object[] args = isLock(resource) ? new Object[] { ended.token(), claim, reads(ended), notifications != null }
				: new Object[] { ended.token(), notifications != null };
		ReplyReader<ReleaseReply> reply = (array, repeated, late) -> released(resource, array, repeated, notifications);
		return send(isLock(resource) ? RELEASE : StoreScripts::releasePermits, resource,
				(next != null) ? next.leaseMillis() : 0, reply,
				(next != null) ? join(args, request(resource, next, mode, true)) : args);
	}

	private ReleaseReply released(Resource resource, List<?> reply, boolean repeated,
			@Nullable StoreNotifications notifications) {
		if (reply.size() == 1) {
			return ScriptReplies.released(reply.get(0), null, repeated);
		}
		// The outcome; how many elements tell of the next token; those; three for each
		// grant.
		int grantsFrom = 2 + (int) ScriptReplies.number(reply.get(1));
		AcquireReply next = (grantsFrom > 2) ? this.replies.followed(resource, reply.subList(2, grantsFrom), 0) : null;
		if (notifications != null) {
			for (int i = grantsFrom; i < reply.size(); i += 3) {
				notifications.granted(resource, ScriptReplies.text(reply.get(i)),
						ScriptReplies.number(reply.get(i + 1)), ScriptReplies.number(reply.get(i + 2)));
			}
		}
		return ScriptReplies.released(reply.get(0), next, repeated);
	}

	/** End tokens in their names. */
	CompletableFuture<List<Boolean>> force(Resource resource, List<String> tokens) {
		return send(isLock(resource) ? RELEASE : StoreScripts::releasePermits, resource, 0,
				(reply) -> reply.stream().map(ScriptReplies::flag).toList(),
				Stream.concat(Stream.of(ScriptArguments.NOTHING), tokens.stream()).toArray());
	}

	/** Set the limit of a semaphore, or clear it. */
	CompletableFuture<Boolean> limit(Resource resource, @Nullable Integer limit) {
		return send(StoreScripts::limit, resource, 0, (reply) -> ScriptReplies.flag(reply.get(0)),
				(limit != null) ? limit.toString() : ScriptArguments.NOTHING);
	}

	/**
	 * Look at a resource.
	 * @param maxHolders how many holders to name at most
	 * @param maxWaiters how many waiters to name at most
	 */
	<T> CompletableFuture<T> inspect(Resource resource, int maxHolders, int maxWaiters, Function<List<?>, T> reply) {
		return this.executor.execute(Script.INSPECT, () -> this.names.keys(resource),
				new Object[] { isLock(resource), maxHolders, maxWaiters }, this.options.keyOf(resource), reply);
	}

	/**
	 * Renew leases, either all of locks or all of permits.
	 * @param subject the renewed leases, for messages
	 */
	<T> CompletableFuture<T> renew(List<Renewal> renewals, String subject, Function<List<?>, T> reply) {
		boolean permits = !renewals.isEmpty() && !isLock(renewals.get(0).resource());
		return this.executor.execute(this.scripts.renew(), () -> keys(renewals),
				ScriptArguments.ofRenewals(renewals, permits), subject, reply);
	}

	private byte[][] keys(List<Renewal> renewals) {
		List<byte[]> keys = new ArrayList<>(3 * renewals.size());
		for (Renewal renewal : renewals) {
			this.options.check(renewal.leaseMillis());
			Resource resource = renewal.resource();
			if (isLock(resource)) {
				keys.add(RedisKeys.bytes(this.options.keyOf(resource)));
			}
			else {
				PermitKeys permits = permitKeys(resource);
				Collections.addAll(keys, RedisKeys.bytes(permits.holders(), permits.queue(), permits.state()));
			}
		}
		return this.options.withServer(keys.toArray(byte[][]::new));
	}

	/** Send a script. The call has failed if the resource or the lease is refused. */
	private <T> CompletableFuture<T> send(Function<StoreScripts, Script> script, Resource resource, long leaseMillis,
			Function<List<?>, T> reply, Object... args) {
		Name name;
		try {
			name = this.names.of(resource);
			this.options.check(leaseMillis);
		}
		catch (StoreCommandException ex) {
			return CompletableFuture.failedFuture(ex);
		}
		StoreScripts shard = this.cluster ? this.shards.apply(name.slot()) : null;
		return this.executor.execute(script.apply((shard != null) ? shard : this.scripts), name.keys(),
				isLock(resource) ? args : join(new Object[] { resource.key() }, args), name.key(), reply);
	}

	private static Object[] join(Object[] first, Object[] second) {
		Object[] all = Arrays.copyOf(first, first.length + second.length);
		System.arraycopy(second, 0, all, first.length, second.length);
		return all;
	}

}
