package io.holdfast.redis.driver;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.stream.StreamSupport;

import io.holdfast.async.DaemonThreads;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.script.RedisFailures;

import org.springframework.data.redis.connection.ClusterSlotHashUtil;
import org.springframework.data.redis.connection.RedisClusterConnection;
import org.springframework.data.redis.connection.RedisClusterNode;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.RedisTemplate;

/**
 * The nodes of a cluster, each known by its first slot, so that a script that has a key
 * of that slot runs there. Thread-safe.
 */
public final class ClusterNodes {

	public static final int LAST_SLOT = 16_383;

	/** Far more than any slot needs. */
	private static final int MOST_TRIES = 10_000_000;

	private final RedisTemplate<String, String> template;

	private final DaemonThreads threads;

	/** Create the view of the cluster behind a template. */
	public ClusterNodes(RedisTemplate<String, String> template, DaemonThreads threads) {
		this.template = template;
		this.threads = threads;
	}

	/**
	 * Return the nodes that may have keys with a prefix. Does not block.
	 * @param prefix the prefix of the keys
	 * @return the first slot of each, in their order, at least one
	 */
	public CompletableFuture<List<Integer>> firstSlots(String prefix) {
		if (RedisKeys.hasHashTag(prefix)) {
			return CompletableFuture.completedFuture(List.of(ClusterSlotHashUtil.calculateSlot(prefix)));
		}
		return masters().thenApply((masters) -> {
			List<Integer> slots = masters.stream().map(ClusterNodes::firstSlot).sorted().toList();
			// Redis tells the reason if that is not served.
			return slots.isEmpty() ? List.of(0) : slots;
		});
	}

	private CompletableFuture<List<RedisClusterNode>> masters() {
		// The driver may have to connect for it.
		return CompletableFuture.supplyAsync(this::ask, (task) -> this.threads.start(task, "holdfast-redis-nodes"));
	}

	private List<RedisClusterNode> ask() {
		try {
			Iterable<RedisClusterNode> nodes = this.template.execute(
					(RedisCallback<Iterable<RedisClusterNode>>) (connection) -> ((RedisClusterConnection) connection)
						.clusterGetNodes());
			return StreamSupport.stream(Objects.requireNonNull(nodes).spliterator(), false)
				.filter((node) -> node.isMaster() && !node.getSlotRange().getSlots().isEmpty())
				.toList();
		}
		catch (RuntimeException ex) {
			throw RedisFailures.of(ex, "the nodes of the cluster");
		}
	}

	private static int firstSlot(RedisClusterNode node) {
		return node.getSlotRange().getSlots().stream().mapToInt(Integer::intValue).min().orElseThrow();
	}

	/**
	 * Return a key that a node would have.
	 * @param slot one of its slots
	 * @param prefix the prefix of the key, for the rights of the user
	 * @return the key, which nothing is ever stored at
	 * @throws IllegalArgumentException if there is no such slot
	 */
	public static String keyAt(int slot, String prefix) {
		if (RedisKeys.hasHashTag(prefix)) {
			return prefix;
		}
		if (slot < 0 || slot > LAST_SLOT) {
			throw new IllegalArgumentException("The slot is " + slot + ", which is not from 0 to " + LAST_SLOT);
		}
		// Some 16,000 tries, which takes a few milliseconds.
		for (int i = 0; i < MOST_TRIES; i++) {
			String key = prefix + "{" + i + "}";
			if (ClusterSlotHashUtil.calculateSlot(key) == slot) {
				return key;
			}
		}
		throw new IllegalStateException("No key has slot " + slot);
	}

}
