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
 * Masters of a cluster, as known to the driver, and connections for subscriptions at each
 * master. Thread-safe.
 *
 * <p>
 * Lettuce has its own connections to the nodes of a cluster. But when a channel moves
 * with its slot, Lettuce does not subscribe at the new master.
 */
public final class ClusterMasters {

	public static final int LAST_SLOT = 16_383;

	private static final Duration END = Duration.ofMillis(500);

	private static final long REFRESH_NANOS = TimeUnit.SECONDS.toNanos(1);

	private final HoldfastConnectionFactory factory;

	private final DaemonThreads threads;

	/** Time of the last refresh. */
	private final AtomicLong refreshedAt = new AtomicLong(System.nanoTime() - REFRESH_NANOS);

	private @Nullable RedisClient client;

	/** Create the view of a factory's cluster. */
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
	 * Return the masters that may have keys with a prefix, by their first slots. A script
	 * with a key in such a slot runs at the master. Does not block.
	 * @param prefix the prefix of the keys
	 * @return a future of the slots in order, at least one
	 */
	public CompletableFuture<List<Integer>> firstSlots(String prefix) {
		if (RedisKeys.hasHashTag(prefix)) {
			return CompletableFuture.completedFuture(List.of(ClusterSlotHashUtil.calculateSlot(prefix)));
		}
		return CompletableFuture.supplyAsync(() -> {
			try {
				List<Integer> slots = masters().stream().map(ClusterMasters::firstSlot).toList();
				// Redis reports the reason if no node serves this slot.
				return slots.isEmpty() ? List.of(0) : slots;
			}
			catch (RuntimeException ex) {
				throw RedisFailures.of(ex, "the nodes of the cluster");
			}
		}, (task) -> this.threads.start(task, "holdfast-redis-nodes"));
	}

	/**
	 * Return a key in a slot. Nothing is ever stored at this key.
	 * @param slot a slot from 0 to {@link #LAST_SLOT}
	 * @param prefix the prefix of the key, for the rights of the user. If the prefix has
	 * a hash tag, the key is in the slot of the hash tag
	 * @return the key
	 */
	public static String keyAt(int slot, String prefix) {
		if (RedisKeys.hasHashTag(prefix)) {
			return prefix;
		}
		// About 16,000 tries, which take a few milliseconds.
		return IntStream.iterate(0, (i) -> i + 1)
			.mapToObj((i) -> prefix + "{" + i + "}")
			.filter((key) -> ClusterSlotHashUtil.calculateSlot(key) == slot)
			.findFirst()
			.orElseThrow();
	}

	/**
	 * Let the driver refresh its view of the cluster in the background, at most once per
	 * second. By itself, the driver refreshes at most once in 5 seconds, even after a
	 * look at slots without a master.
	 */
	public void refresh() {
		long now = System.nanoTime();
		long last = this.refreshedAt.get();
		if (now - last >= REFRESH_NANOS && this.refreshedAt.compareAndSet(last, now)) {
			cluster().refreshPartitionsAsync();
		}
	}

	/** Open a connection without reconnects. Blocks. */
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

	/** Close the connections. Further connections can be opened. Blocks shortly. */
	public synchronized void stop() {
		RedisClient open = this.client;
		this.client = null;
		if (open != null) {
			open.shutdown(Duration.ZERO, END);
		}
	}

}
