package io.holdfast.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.Stream;

import io.holdfast.engine.LeaseStore.AcquireReply;
import io.holdfast.engine.LeaseStore.Ask;
import io.holdfast.engine.LeaseStore.Holder;
import io.holdfast.engine.LeaseStore.PermitState;
import io.holdfast.engine.LeaseStore.ReleaseReply;
import io.holdfast.engine.LeaseStore.Renewal;
import io.holdfast.engine.Resource;
import io.holdfast.engine.Resource.Kind;
import io.holdfast.redis.RedisLeaseStore.Options;
import org.jspecify.annotations.Nullable;

/**
 * The commands of semaphores and of read-write locks, which are semaphores whose readers
 * take one permit and whose writer takes all. Thread-safe.
 */
final class PermitCommands {

	private final Options options;

	private final boolean cluster;

	private final ScriptExecutor executor;

	private final Replies replies;

	private final FailOverGrace grace;

	PermitCommands(Options options, boolean cluster, ScriptExecutor executor, Replies replies) {
		this.options = options;
		this.cluster = cluster;
		this.executor = executor;
		this.replies = replies;
		this.grace = options.grace();
	}

	CompletableFuture<AcquireReply> acquire(Resource resource, Ask ask, String mode, boolean enqueue) {
		return change(Script.PERMITS_ACQUIRE, resource, ask.leaseMillis(),
				(reply) -> this.replies.acquired(this.options.keyOf(resource), reply, 0), ask.token(), ask.permits(),
				ask.limit(), ask.fair(), (ask.under() != null) ? ask.under() : "", ask.leaseMillis(), ask.claimMillis(),
				mode, enqueue);
	}

	CompletableFuture<ReleaseReply> release(Resource resource, Ask ended) {
		return change(Script.PERMITS_RELEASE, resource, 0,
				(reply) -> new ReleaseReply(Replies.flag(reply.get(0)), null), ended.token());
	}

	CompletableFuture<Boolean> shrink(Resource resource, Ask held, int kept) {
		return change(Script.PERMITS_SHRINK, resource, 0, (reply) -> Replies.flag(reply.get(0)), held.token(), kept);
	}

	CompletableFuture<Boolean> limit(Resource resource, @Nullable Integer limit) {
		return change(Script.PERMITS_LIMIT, resource, 0, (reply) -> Replies.flag(reply.get(0)),
				(limit != null) ? limit : "");
	}

	private <T> CompletableFuture<T> change(Script script, Resource resource, long leaseMillis,
			Function<List<?>, T> reply, Object... args) {
		Stream<Object> common = Stream.of(letter(resource), this.options.fenceRetention(),
				this.options.handoffTimeout(), this.options.channelPrefix(), this.cluster, resource.key());
		return this.executor.execute(script, () -> {
			this.grace.check(leaseMillis);
			return this.grace.keys(keys(resource).toBytes());
		}, this.grace.args(Stream.concat(common, Stream.of(args))), this.options.keyOf(resource), reply);
	}

	<T> CompletableFuture<T> renew(List<Renewal> renewals, String what, Function<List<?>, T> reply) {
		Stream<?> args = renewals.stream()
			.flatMap((renewal) -> Stream.of(renewal.token(), renewal.permits(), renewal.leaseMillis()));
		return this.executor.execute(Script.PERMITS_RENEW,
				() -> this.grace.keys(renewals.stream()
					.peek((renewal) -> this.grace.check(renewal.leaseMillis()))
					.map((renewal) -> keys(renewal.resource()))
					.flatMap((keys) -> Stream.of(keys.holders(), keys.queue(), keys.state()))
					.map(RedisKeys::bytes)
					.toArray(byte[][]::new)),
				this.grace.args(args), what, reply);
	}

	CompletableFuture<PermitState> inspect(Resource resource, int maxHolders) {
		return this.executor.execute(Script.PERMITS_INSPECT, () -> keys(resource).toBytes(),
				Stream.of(letter(resource), maxHolders, 0), this.options.keyOf(resource), PermitCommands::state);
	}

	private static PermitState state(List<?> reply) {
		Object limit = reply.get(0);
		List<Holder> holders = new ArrayList<>();
		long named = Replies.number(reply.get(5));
		for (int i = 6; i < 6 + 2 * named; i += 2) {
			Holder holder = StandingReplies.holder(reply.get(i), Kind.SEMAPHORE, Replies.number(reply.get(i + 1)));
			if (holder != null) {
				holders.add(holder);
			}
		}
		return new PermitState((limit != null) ? (int) Replies.number(limit) : null, (int) Replies.number(reply.get(1)),
				(int) Replies.number(reply.get(2)), (int) Replies.number(reply.get(3)), List.copyOf(holders),
				(int) Replies.number(reply.get(4)));
	}

	PermitKeys keys(Resource resource) {
		this.options.check(resource);
		String key = this.options.keyOf(resource);
		return (resource.kind() == Kind.SEMAPHORE) ? PermitKeys.ofSemaphore(key, this.cluster)
				: PermitKeys.ofReadWriteLock(key, this.cluster);
	}

	private static String letter(Resource resource) {
		return (resource.kind() == Kind.SEMAPHORE) ? "S" : "R";
	}

}
