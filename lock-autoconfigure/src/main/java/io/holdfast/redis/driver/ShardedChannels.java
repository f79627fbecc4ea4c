package io.holdfast.redis.driver;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.script.StoreScripts;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.ClusterSlotHashUtil;

/**
 * Channels of an instance at the masters of a cluster, one at each, in that master's
 * first slot. Messages there go to no other master. All but {@link #at} is called in the
 * thread of the subscriptions.
 *
 * <p>
 * Whether an instance has such a channel need not be known to others: where a message has
 * no receiver, or is refused, it is published for all of the cluster.
 */
public final class ShardedChannels {

	private static final Log logger = LogFactory.getLog(ShardedChannels.class);

	/**
	 * So often in a row the driver is to look where a channel has gone, then more rarely.
	 */
	private static final int MISSES = 24;

	/** Named by messages to the own channel; never stored. */
	private static final String PING_KEY = "holdfast-ping";

	private final ClusterMasters masters;

	private final RedisStoreOptions options;

	private final String keyPrefix;

	/** By the master's name. Also used by the thread that closes this. */
	private final Map<String, Shard> shards = new ConcurrentHashMap<>();

	/** By slot, for the masters whose channel works. */
	private volatile @Nullable StoreScripts[] scripts = new StoreScripts[0];

	private boolean refusalLogged;

	/** How often in a row a channel was missing. */
	private int misses;

	/** Create the channels, which are used once the instance has started. */
	public ShardedChannels(ClusterMasters masters, RedisStoreOptions options) {
		this.masters = masters;
		this.options = options;
		this.keyPrefix = options.lockPrefix() + PING_KEY;
	}

	/** Return the KEYS of a ping by the bus: of another slot than its channel. */
	byte[][] pingKeys() {
		return new byte[][] { RedisKeys.bytes(this.keyPrefix) };
	}

	/**
	 * Return the scripts for the keys of a slot, by which grants are told to channels of
	 * its master. Thread-safe.
	 * @return the scripts, or {@code null} for the ones that tell all of the cluster
	 */
	public @Nullable StoreScripts at(int slot) {
		@Nullable StoreScripts[] known = this.scripts;
		return (slot < known.length) ? known[slot] : null;
	}

	/** Return whether something may be published that this instance does not receive. */
	boolean isInDoubt() {
		return this.shards.values().stream().anyMatch((shard) -> shard.isInDoubt());
	}

	/** Have a channel at each of the masters of now, and no others. */
	void follow(String channel, NotificationListener listener) {
		Map<String, Shard> before = new HashMap<>(this.shards);
		List<RedisClusterNode> now = this.masters.masters();
		// A single one has no others to spare the messages.
		for (RedisClusterNode master : (now.size() > 1) ? now : List.<RedisClusterNode>of()) {
			Shard known = before.get(master.getNodeId());
			int channelSlot = slotAt(channel, ClusterMasters.firstSlot(master));
			int keySlot = slotAt(this.keyPrefix, master.getSlots().get(master.getSlots().size() - 1));
			if (!master.hasSlot(channelSlot) || !master.hasSlot(keySlot)) {
				continue;
			}
			if (known != null && known.isAt(master, channelSlot)) {
				before.remove(master.getNodeId());
				known.update(master, keySlot);
			}
			else {
				String name = ClusterMasters.keyAt(channelSlot, channel + ":");
				Shard shard = new Shard(master, channelSlot, keySlot, name.substring(channel.length()), listener);
				this.shards.put(master.getNodeId(), shard);
				shard.subscribe(name);
			}
		}
		before.forEach((id, shard) -> {
			this.shards.remove(id, shard);
			listener.inBackground(shard.stop());
		});
		publish();
		boolean missing = this.shards.values().stream().anyMatch((shard) -> !shard.isListening() && !shard.refused);
		this.misses = missing ? this.misses + 1 : 0;
		if (missing && (this.misses <= MISSES || this.misses % MISSES == 0)) {
			// Its slot or its master may have gone, which the driver is not told of.
			this.masters.refresh();
		}
	}

	/** Return the slot of keys with a prefix: by its tag, if it has one. */
	private static int slotAt(String prefix, int chosen) {
		return RedisKeys.hasHashTag(prefix) ? ClusterSlotHashUtil.calculateSlot(prefix) : chosen;
	}

	private byte[] keyAt(int slot) {
		return RedisKeys.bytes(ClusterMasters.keyAt(slot, this.keyPrefix));
	}

	private void publish() {
		StoreScripts[] table = new StoreScripts[ClusterMasters.LAST_SLOT + 1];
		this.shards.values()
			.stream()
			.filter((shard) -> shard.isListening())
			.forEach((shard) -> shard.master.getSlots().forEach((slot) -> table[slot] = shard.scripts));
		this.scripts = table;
	}

	/**
	 * Use none of them any more; return the ends of the subscriptions, still to be run.
	 */
	List<Runnable> end() {
		this.scripts = new StoreScripts[0];
		List<Runnable> open = new ArrayList<>(this.shards.values().stream().map(ChannelWatch::stop).toList());
		this.shards.clear();
		open.add(this.masters::stop);
		return open;
	}

	/** The channel at one master. */
	private final class Shard extends ChannelWatch {

		private final int slot;

		private final StoreScripts scripts;

		private RedisClusterNode master;

		private int keySlot;

		private boolean refused;

		/**
		 * Create it.
		 * @param suffix the ending of the channels in its slot
		 */
		Shard(RedisClusterNode master, int slot, int keySlot, String suffix, NotificationListener listener) {
			super(listener, true, keyAt(keySlot));
			this.master = master;
			this.slot = slot;
			this.keySlot = keySlot;
			this.scripts = StoreScripts.of(ShardedChannels.this.options, true, suffix);
		}

		boolean isAt(RedisClusterNode now, int nowSlot) {
			return this.slot == nowSlot && this.master.getUri().equals(now.getUri());
		}

		void update(RedisClusterNode now, int nowKeySlot) {
			this.master = now;
			if (this.keySlot != nowKeySlot) {
				this.keySlot = nowKeySlot;
				pingBy(keyAt(nowKeySlot));
			}
		}

		@Override
		Supplier<StatefulRedisPubSubConnection<byte[], byte[]>> connector() {
			RedisURI at = this.master.getUri();
			return () -> ShardedChannels.this.masters.connect(at);
		}

		@Override
		void onChange() {
			publish();
			super.onChange();
		}

		@Override
		void onTrouble(String reason, boolean refused) {
			this.refused = refused;
			if (!refused && isInDoubt()) {
				RedisURI at = this.master.getUri();
				super.onTrouble(at.getHost() + ":" + at.getPort() + ": " + reason, false);
			}
			if (refused && !ShardedChannels.this.refusalLogged) {
				ShardedChannels.this.refusalLogged = true;
				logger
					.info("Wake-ups go to all nodes of the cluster, as Redis refuses those by one of them. " + reason);
			}
		}

	}

}
