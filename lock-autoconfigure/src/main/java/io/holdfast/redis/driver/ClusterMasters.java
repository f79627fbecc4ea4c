package io.holdfast.redis.driver;

import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

import io.holdfast.async.DaemonThreads;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.script.RedisFailures;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.ClusterSlotHashUtil;

/**
 * The masters of a cluster as the driver knows them, and subscriptions at each of them.
 * Thread-safe.
 *
 * <p>
 * Lettuce has connections to the nodes of a cluster of its own. But it does not subscribe
 * again where a slot has gone when a channel moves with it.
 */
public final class ClusterMasters {

	public static final int LAST_SLOT = 16_383;

	private static final Duration END = Duration.ofMillis(500);

	private static final long REFRESH_NANOS = TimeUnit.SECONDS.toNanos(1);

	private final HoldfastConnectionFactory factory;

	private final DaemonThreads threads;

	/** When the driver was told last to look anew. */
	private final AtomicLong refreshedAt = new AtomicLong(System.nanoTime() - REFRESH_NANOS);

	private @Nullable RedisClient client;

	/** Create the view of the cluster that a factory connects to. */
	public ClusterMasters(HoldfastConnectionFactory factory, DaemonThreads threads) {
		this.factory = factory;
		this.threads = threads;
	}

	private RedisClusterClient cluster() {
		return (RedisClusterClient) this.factory.getRequiredNativeClient();
	}

	/**
	 * Return the masters that have slots. Blocks if the driver has never connected.
	 * @return the masters, in the order of their first slots
	 */
	public List<RedisClusterNode> masters() {
		return cluster().getPartitions()
			.stream()
			.filter((node) -> node.getRole().isUpstream() && !node.getSlots().isEmpty())
			.sorted(Comparator.comparingInt(ClusterMasters::firstSlot))
			.toList();
	}

	static int firstSlot(RedisClusterNode master) {
		return master.getSlots().get(0);
	}

	/**
	 * Return the masters that may have keys with a prefix, each by its first slot: a
	 * script with a key of that slot runs there. Does not block.
	 * @param prefix the beginning of the keys
	 * @return the slots in their order, at least one
	 */
	public CompletableFuture<List<Integer>> firstSlots(String prefix) {
		if (RedisKeys.hasHashTag(prefix)) {
			return CompletableFuture.completedFuture(List.of(ClusterSlotHashUtil.calculateSlot(prefix)));
		}
		return CompletableFuture.supplyAsync(() -> {
			try {
				List<Integer> slots = masters().stream().map(ClusterMasters::firstSlot).toList();
				// Redis names the fault if that is not served.
				return slots.isEmpty() ? List.of(0) : slots;
			}
			catch (RuntimeException ex) {
				throw RedisFailures.of(ex, "the nodes of the cluster");
			}
		}, (task) -> this.threads.start(task, "holdfast-redis-nodes"));
	}

	/**
	 * Return a key that a node would have.
	 * @param slot one of its slots
	 * @param prefix the beginning of the key, for the rights of the user
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
		return IntStream.iterate(0, (i) -> i + 1)
			.mapToObj((i) -> prefix + "{" + i + "}")
			.filter((key) -> ClusterSlotHashUtil.calculateSlot(key) == slot)
			.findFirst()
			.orElseThrow();
	}

	/**
	 * Have the driver look at the cluster anew, in the background, unless that was done
	 * in the last second. By itself it looks once in 5 seconds, also when it has seen a
	 * cluster in which slots had no master.
	 */
	public void refresh() {
		long now = System.nanoTime();
		long last = this.refreshedAt.get();
		if (now - last >= REFRESH_NANOS && this.refreshedAt.compareAndSet(last, now)) {
			cluster().refreshPartitionsAsync();
		}
	}

	/** Open a connection that stays broken when it breaks. Blocks. */
	public StatefulRedisPubSubConnection<byte[], byte[]> connect(RedisURI master) {
		return client().connectPubSub(ByteArrayCodec.INSTANCE, master);
	}

	private synchronized RedisClient client() {
		RedisClient open = this.client;
		if (open == null) {
			RedisClusterClient cluster = cluster();
			open = RedisClient.create(cluster.getResources());
			open.setOptions(((ClusterClientOptions) cluster.getOptions()).mutate().autoReconnect(false).build());
			this.client = open;
		}
		return open;
	}

	/** Close the connections. The next one can still be opened. Blocks shortly. */
	public synchronized void stop() {
		RedisClient open = this.client;
		this.client = null;
		if (open != null) {
			open.shutdown(Duration.ZERO, END);
		}
	}

}
