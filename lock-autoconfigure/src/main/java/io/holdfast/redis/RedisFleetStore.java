package io.holdfast.redis;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.store.FleetStore;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.redis.driver.ClusterMasters;
import io.holdfast.redis.driver.ScriptExecutor;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.script.RedisFailures;
import io.holdfast.redis.script.Script;
import io.holdfast.redis.script.ScriptReplies;
import org.jspecify.annotations.Nullable;

/**
 * View of operators of all that is kept in Redis. Thread-safe.
 */
final class RedisFleetStore implements FleetStore {

	/** How many keys Redis looks at before it serves others. */
	private static final int KEYS_PER_STEP = 2_000;

	private static final List<Integer> ONE_NODE = List.of(0);

	private final RedisStoreOptions options;

	private final boolean cluster;

	private final ScriptExecutor executor;

	private final ResourceCommands commands;

	private final @Nullable ClusterMasters masters;

	/** Create the store; the masters are {@code null} outside of a cluster. */
	public RedisFleetStore(RedisStoreOptions options, ScriptExecutor executor, ResourceCommands commands,
			@Nullable ClusterMasters masters) {
		this.options = options;
		this.cluster = masters != null;
		this.executor = executor;
		this.commands = commands;
		this.masters = masters;
	}

	@Override
	public CompletableFuture<Page> scan(Family family, @Nullable String cursor, int wanted) {
		ScanCursor.check(cursor, this.cluster ? ClusterMasters.LAST_SLOT : 0);
		StoredKeys keys = new StoredKeys(this.options, family);
		CompletableFuture<List<Integer>> slots = (this.masters != null) ? this.masters.firstSlots(keys.prefix())
				: CompletableFuture.completedFuture(ONE_NODE);
		return slots.thenCompose((first) -> scan(keys, ScanCursor.of(cursor, first.get(0)), first, wanted));
	}

	private CompletableFuture<Page> scan(StoredKeys keys, ScanCursor at, List<Integer> slots, int wanted) {
		return this.executor.execute(Script.SCAN,
				() -> this.cluster ? new byte[][] { RedisKeys.bytes(ClusterMasters.keyAt(at.slot(), keys.prefix())) }
						: new byte[0][],
				new Object[] { at.position(), keys.pattern(), wanted, KEYS_PER_STEP }, keys.prefix() + "*", (reply) -> {
					Set<Find> finds = new LinkedHashSet<>();
					for (Object stored : reply.subList(1, reply.size())) {
						Find find = keys.find(ScriptReplies.text(stored));
						if (find != null) {
							finds.add(find);
						}
					}
					return new Page(List.copyOf(finds), at.after(ScriptReplies.text(reply.get(0)), slots));
				});
	}

	@Override
	public CompletableFuture<Standing> look(Family family, String key, int most) {
		Resource resource = new Resource((family == Family.SEMAPHORES) ? Kind.SEMAPHORE : Kind.LOCK, key);
		CompletableFuture<Standing> answer = this.commands.inspect(resource, most, most,
				(family == Family.SEMAPHORES) ? (reply) -> StandingReplies.semaphore(resource, reply)
						: (reply) -> StandingReplies.lock(resource, reply));
		return answer.exceptionallyCompose((error) -> RedisFailures.isWrongType(error)
				? CompletableFuture.completedFuture(StandingReplies.nothing(resource))
				: CompletableFuture.failedFuture(error));
	}

}
