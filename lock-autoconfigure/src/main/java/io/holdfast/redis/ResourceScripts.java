package io.holdfast.redis;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.IntFunction;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.redis.driver.ScriptExecutor;
import io.holdfast.redis.key.FailOverGrace;
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
 * The common part of all commands on resources: the scripts of a store, their way to
 * Redis, and the reader of their replies. Thread-safe.
 */
final class ResourceScripts {

	private final RedisStoreOptions options;

	private final boolean cluster;

	private final ScriptExecutor executor;

	private final ScriptReplies replies;

	private final StoreScripts scripts;

	private final RedisKeyCache names;

	private final FailOverGrace grace;

	/** By slot of the key. */
	private final IntFunction<@Nullable StoreScripts> shards;

	ResourceScripts(RedisStoreOptions options, boolean cluster, ScriptExecutor executor,
			IntFunction<@Nullable StoreScripts> shards) {
		this.shards = shards;
		this.options = options;
		this.cluster = cluster;
		this.executor = executor;
		this.replies = new ScriptReplies(options);
		this.scripts = StoreScripts.of(options, cluster);
		this.names = new RedisKeyCache(options, cluster);
		this.grace = options.grace();
	}

	RedisStoreOptions options() {
		return this.options;
	}

	boolean isCluster() {
		return this.cluster;
	}

	ScriptExecutor executor() {
		return this.executor;
	}

	ScriptReplies replies() {
		return this.replies;
	}

	PermitKeys permitKeys(Resource resource) {
		this.options.check(resource);
		return PermitKeys.of(this.options.keyOf(resource), this.cluster);
	}

	/**
	 * Renew leases, either all of exclusive locks or all of permits.
	 * @param what the renewed lease, for messages
	 * @param reply turns the reply into a result
	 */
	<T> CompletableFuture<T> renew(List<Renewal> renewals, String what, Function<List<?>, T> reply) {
		boolean permits = !renewals.isEmpty() && renewals.get(0).resource().kind() == Kind.SEMAPHORE;
		return this.executor.execute(this.scripts.renew(), () -> keys(renewals),
				ScriptArguments.ofRenewals(renewals, permits), what, reply);
	}

	private byte[][] keys(List<Renewal> renewals) {
		List<byte[]> keys = new ArrayList<>(3 * renewals.size());
		for (Renewal renewal : renewals) {
			this.grace.check(renewal.leaseMillis());
			Resource resource = renewal.resource();
			if (resource.kind() == Kind.LOCK) {
				keys.add(RedisKeys.bytes(this.options.keyOf(resource)));
			}
			else {
				PermitKeys permits = permitKeys(resource);
				Collections.addAll(keys, RedisKeys.bytes(permits.holders(), permits.queue(), permits.state()));
			}
		}
		return this.grace.keys(keys.toArray(byte[][]::new));
	}

	/**
	 * Send the script by which a token asks.
	 * @param script chooses the script
	 * @param resource the lock or semaphore
	 * @param command the token and its request
	 * @param args its ARGV
	 * @return the call; has failed if the resource or the lease is refused
	 */
	CompletableFuture<AcquireReply> acquire(Function<StoreScripts, Script> script, Resource resource,
			AcquireCommand command, Object... args) {
		return send(script, resource, command.leaseMillis(),
				(reply) -> this.replies.acquired(resource, reply, command.leaseMillis()), args);
	}

	/**
	 * Send a script.
	 * @param <T> the type of the result
	 * @param script chooses the script
	 * @param reply turns the reply into a result
	 * @return the call; has failed if the resource or the lease is refused
	 */
	<T> CompletableFuture<T> send(Function<StoreScripts, Script> script, Resource resource, long leaseMillis,
			Function<List<?>, T> reply, Object... args) {
		Name name;
		try {
			name = this.names.of(resource);
			this.grace.check(leaseMillis);
		}
		catch (StoreCommandException ex) {
			return CompletableFuture.failedFuture(ex);
		}
		StoreScripts shard = this.cluster ? this.shards.apply(name.slot()) : null;
		return this.executor.execute(script.apply((shard != null) ? shard : this.scripts), name.keys(), args,
				name.key(), reply);
	}

	/**
	 * Return the outcome for an ended token, and tell of the grants to others of its
	 * instance: each by a message would cost more than the command.
	 * @param notifications where these go, or {@code null}
	 */
	ReleaseReply released(Resource resource, List<?> reply, boolean repeated,
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

}
