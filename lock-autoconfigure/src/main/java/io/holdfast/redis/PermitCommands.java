package io.holdfast.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

import io.holdfast.engine.LeaseStore.AcquireReply;
import io.holdfast.engine.LeaseStore.Ask;
import io.holdfast.engine.LeaseStore.Holder;
import io.holdfast.engine.LeaseStore.PermitState;
import io.holdfast.engine.LeaseStore.ReleaseReply;
import io.holdfast.engine.LeaseStore.WakeUps;
import io.holdfast.engine.LeaseStore.Renewal;
import io.holdfast.engine.Resource;
import io.holdfast.engine.Resource.Kind;
import io.holdfast.redis.ScriptCall.ReplyReader;
import org.jspecify.annotations.Nullable;

/**
 * The commands of semaphores and of read-write locks, which are semaphores whose readers
 * take one permit and whose writer takes all. Thread-safe.
 */
final class PermitCommands {

	private static final byte[] SEMAPHORE = { 'S' };

	private static final byte[] READ_WRITE = { 'R' };

	private final RedisStoreOptions options;

	private final boolean cluster;

	private final ScriptExecutor executor;

	private final Replies replies;

	private final FailOverGrace grace;

	private final Changes changes;

	PermitCommands(RedisStoreOptions options, boolean cluster, ScriptExecutor executor, Replies replies,
			Changes changes) {
		this.options = options;
		this.cluster = cluster;
		this.executor = executor;
		this.replies = replies;
		this.grace = options.grace();
		this.changes = changes;
	}

	CompletableFuture<AcquireReply> acquire(Resource resource, Ask ask, byte[] mode, boolean enqueue) {
		return change(Script.PERMITS_ACQUIRE, resource, ask.leaseMillis(),
				(reply) -> this.replies.acquired(resource, reply, 0), arguments(ask, mode, enqueue));
	}

	/** As permits-ask.lua takes them. */
	private static byte[][] arguments(Ask ask, byte[] mode, boolean enqueue) {
		String under = ask.under();
		return new byte[][] { RedisKeys.bytes(ask.token()), Arguments.number(ask.permits()),
				Arguments.number(ask.limit()), Arguments.flag(ask.fair()),
				(under != null) ? RedisKeys.bytes(under) : Arguments.NOTHING, Arguments.number(ask.leaseMillis()),
				Arguments.number(ask.claimMillis()), mode, Arguments.flag(enqueue) };
	}

	/**
	 * End a token.
	 * @param ended whose part ends
	 * @param next who is brought in, or {@code null}
	 * @param mode how that one waits
	 * @param wakeUps where grants to others of its instance go, which the answer tells
	 * of: each by a message would cost more than the command; {@code null} if it is
	 * another instance's
	 */
	CompletableFuture<ReleaseReply> release(Resource resource, Ask ended, @Nullable Ask next, byte[] mode,
			@Nullable WakeUps wakeUps) {
		byte[][] asks = (next != null) ? arguments(next, mode, true) : new byte[0][];
		byte[][] args = new byte[asks.length + 2][];
		args[0] = RedisKeys.bytes(ended.token());
		args[1] = Arguments.flag(wakeUps != null);
		System.arraycopy(asks, 0, args, 2, asks.length);
		ReplyReader<ReleaseReply> reply = (array, repeated, late) -> released(resource, array, repeated, wakeUps);
		return change(Script.PERMITS_RELEASE, resource, (next != null) ? next.leaseMillis() : 0, reply, args);
	}

	private ReleaseReply released(Resource resource, List<?> reply, boolean repeated, @Nullable WakeUps wakeUps) {
		int told = 2 + (int) Replies.number(reply.get(1));
		AcquireReply next = (told > 2) ? this.replies.followed(resource, reply.subList(2, told), 0) : null;
		if (wakeUps != null) {
			for (int i = told; i < reply.size(); i += 3) {
				wakeUps.handedOver(resource, Replies.text(reply.get(i)), Replies.number(reply.get(i + 1)),
						Replies.number(reply.get(i + 2)));
			}
		}
		return Replies.released(reply.get(0), next, repeated);
	}

	CompletableFuture<Boolean> shrink(Resource resource, Ask held, int kept) {
		return change(Script.PERMITS_SHRINK, resource, 0, (reply) -> Replies.flag(reply.get(0)),
				RedisKeys.bytes(held.token()), Arguments.number(kept));
	}

	CompletableFuture<Boolean> limit(Resource resource, @Nullable Integer limit) {
		return change(Script.PERMITS_LIMIT, resource, 0, (reply) -> Replies.flag(reply.get(0)),
				(limit != null) ? Arguments.number(limit) : Arguments.NOTHING);
	}

	private <T> CompletableFuture<T> change(Script script, Resource resource, long leaseMillis,
			Function<List<?>, T> reply, byte[]... own) {
		byte[][] args = new byte[own.length + 3][];
		args[0] = letter(resource);
		args[1] = RedisKeys.bytes(resource.key());
		System.arraycopy(own, 0, args, 2, own.length);
		args[own.length + 2] = this.changes.settings();
		return this.changes.send(script, resource, leaseMillis, reply, args);
	}

	<T> CompletableFuture<T> renew(List<Renewal> renewals, String what, Function<List<?>, T> reply) {
		byte[][] args = Arguments.ofRenewals(renewals, true, this.changes.settings());
		return this.executor.execute(Script.PERMITS_RENEW, () -> this.grace.keys(keys(renewals)), args, what, reply);
	}

	private byte[][] keys(List<Renewal> renewals) {
		byte[][] names = new byte[3 * renewals.size()][];
		int i = 0;
		for (Renewal renewal : renewals) {
			this.grace.check(renewal.leaseMillis());
			PermitKeys keys = keys(renewal.resource());
			names[i++] = RedisKeys.bytes(keys.holders());
			names[i++] = RedisKeys.bytes(keys.queue());
			names[i++] = RedisKeys.bytes(keys.state());
		}
		return names;
	}

	CompletableFuture<PermitState> inspect(Resource resource, int maxHolders) {
		return this.executor.execute(Script.PERMITS_INSPECT, () -> keys(resource).toBytes(),
				Arguments.of(letter(resource), maxHolders, 0), this.options.keyOf(resource), PermitCommands::state);
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
		return PermitKeys.of(resource.kind(), this.options.keyOf(resource), this.cluster);
	}

	private static byte[] letter(Resource resource) {
		return (resource.kind() == Kind.SEMAPHORE) ? SEMAPHORE : READ_WRITE;
	}

}
