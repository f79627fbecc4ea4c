package io.holdfast.redis;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.store.FleetStore;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.redis.driver.ClusterMasters;
import io.holdfast.redis.driver.ScriptExecutor;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.script.Script;
import org.jspecify.annotations.Nullable;

/** Operators' search for keys in Redis. Thread-safe. */
final class RedisFleetStore implements FleetStore {

	/** Maximum number of keys that a script scans while other clients wait. */
	private static final int KEYS_PER_STEP = 2_000;

	/** Traces of a resource, by the endings of companions. */
	private static final Map<String, Trace> TRACES = Map.of(RedisKeys.HOLDERS, Trace.HOLDERS, RedisKeys.LIMIT,
			Trace.LIMIT, RedisKeys.QUEUE, Trace.QUEUE);

	private final RedisStoreOptions options;

	private final ScriptExecutor executor;

	private final @Nullable ClusterMasters masters;

	/** Create the store. The masters are {@code null} outside of a cluster. */
	RedisFleetStore(RedisStoreOptions options, ScriptExecutor executor, @Nullable ClusterMasters masters) {
		this.options = options;
		this.executor = executor;
		this.masters = masters;
	}

	@Override
	public CompletableFuture<Page> scan(Kind kind, @Nullable String cursor, int wanted) {
		ScanCursor from = (cursor != null)
				? ScanCursor.of(cursor, (this.masters != null) ? ClusterMasters.LAST_SLOT : 0) : null;
		String prefix = this.options.prefix(kind);
		CompletableFuture<List<Integer>> slots = (this.masters != null) ? this.masters.firstSlots(prefix)
				: CompletableFuture.completedFuture(List.of(0));
		return slots.thenCompose((first) -> scan(kind, prefix,
				(from != null) ? from : new ScanCursor(first.get(0), ScanCursor.END), first, wanted));
	}

	private CompletableFuture<Page> scan(Kind kind, String prefix, ScanCursor at, List<Integer> slots, int wanted) {
		return this.executor.execute(Script.SCAN,
				(this.masters != null) ? new byte[][] { RedisKeys.bytes(ClusterMasters.keyAt(at.slot(), prefix)) }
						: new byte[0][],
				new Object[] { at.position(), pattern(prefix), wanted, KEYS_PER_STEP }, prefix + "*", (reply) -> {
					List<Find> finds = reply.texts(1)
						.stream()
						.map((stored) -> find(kind, stored))
						.filter(Objects::nonNull)
						.distinct()
						.toList();
					return new Page(finds, at.after(reply.text(0), slots));
				});
	}

	/**
	 * Return the pattern for SCAN. Companions may begin with a brace, before the prefix.
	 * @return a pattern that matches all keys of the kind, and possibly further keys
	 */
	private static String pattern(String prefix) {
		return "*" + prefix.replaceAll("[*?\\[\\]\\\\]", "\\\\$0") + "*";
	}

	/**
	 * Return the find for a stored key: the reverse of {@link RedisKeys}.
	 * @return the find, or {@code null} if the key is no trace of a resource of this kind
	 */
	private @Nullable Find find(Kind kind, String stored) {
		String ending = RedisKeys.ending(stored);
		if (ending == null) {
			return (kind == Kind.LOCK) ? find(kind, stored, Trace.HOLDERS) : null;
		}
		Trace trace = TRACES.get(ending);
		if (trace == null || kind == Kind.LOCK && trace != Trace.QUEUE) {
			// A lock has no companion with holders or a limit.
			return null;
		}
		return find(kind, RedisKeys.keyOf(stored, ending, this.options.prefix(kind)), trace);
	}

	private @Nullable Find find(Kind kind, String name, Trace trace) {
		String prefix = this.options.prefix(kind);
		if (!name.startsWith(prefix)) {
			return null;
		}
		String key = name.substring(prefix.length());
		try {
			this.options.check(new Resource(kind, key));
		}
		catch (StoreCommandException ex) {
			// The key belongs to the other kind of resource, or to the register of
			// instances.
			return null;
		}
		return new Find(key, trace);
	}

}
