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
 * Channels of an instance at the masters of a cluster: one channel at each master, in the
 * first slot of the master. Messages to such a channel go to no other master. All methods
 * except {@link #at} are called in the thread of the subscriptions.
 *
 * <p>
 * Other instances do not have to know whether an instance has such channels: a message
 * without a receiver, or a refused message, is published in the whole cluster.
 */
public final class ShardedChannels {

	private static final Log logger = LogFactory.getLog(ShardedChannels.class);

	/** Key of pings to the own channel. Nothing is stored at this key. */
	private static final String PING_KEY = "holdfast-ping";

	private final ClusterMasters masters;

	private final RedisStoreOptions options;

	private final String keyPrefix;

	/** Channels by the ids of their masters. Also used by the closing thread. */
	private final Map<String, Shard> shards = new ConcurrentHashMap<>();

	/** Scripts by slot, for masters with a working channel. */
	private volatile @Nullable StoreScripts[] scripts = new StoreScripts[0];

	private boolean refusalLogged;

	/** Create the channels, for use after the start of the instance. */
	public ShardedChannels(ClusterMasters masters, RedisStoreOptions options) {
		this.masters = masters;
		this.options = options;
		this.keyPrefix = options.lockPrefix() + PING_KEY;
	}

	/**
	 * Return the KEYS of a ping through the whole cluster. The key is in another slot
	 * than the channel.
	 */
	byte[][] pingKeys() {
		return new byte[][] { RedisKeys.bytes(this.keyPrefix) };
	}

	/**
	 * Return the scripts for the keys of a slot, which send notifications to the channels
	 * of the slot's master. Thread-safe.
	 * @return the scripts, or {@code null} for the scripts that send notifications to the
	 * whole cluster
	 */
	public @Nullable StoreScripts at(int slot) {
		@Nullable StoreScripts[] known = this.scripts;
		return (slot < known.length) ? known[slot] : null;
	}

	/** Return whether messages to a channel may be lost. */
	boolean isInDoubt() {
		return this.shards.values().stream().anyMatch((shard) -> shard.isInDoubt());
	}

	/** Update the channels: one channel at each current master. */
	void follow(String channel, NotificationListener listener) {
		Map<String, Shard> before = new HashMap<>(this.shards);
		List<RedisClusterNode> now = this.masters.masters();
		// With a single master, channels per master save nothing.
		for (RedisClusterNode master : (now.size() > 1) ? now : List.<RedisClusterNode>of()) {
			Shard known = before.get(master.getNodeId());
			int channelSlot = slotAt(channel, ClusterMasters.firstSlot(master));
			int keySlot = slotAt(this.keyPrefix, master.getSlots().get(master.getSlots().size() - 1));
			if (!master.hasSlot(channelSlot) || !master.hasSlot(keySlot)) {
				continue;
			}
			if (known != null && known.isAt(master, channelSlot, keySlot)) {
				before.remove(master.getNodeId());
				known.master = master;
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
		if (this.shards.values().stream().anyMatch((shard) -> !shard.isListening() && !shard.refused)) {
			// The slot may have moved, or the master may be gone, without the driver
			// knowing.
			this.masters.refresh();
		}
	}

	/**
	 * Return the slot of the keys with a prefix: the slot of its hash tag, or else the
	 * chosen slot.
	 */
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
	 * End the subscriptions.
	 * @return the actions that close the connections, which the caller has to run
	 */
	List<Runnable> end() {
		this.scripts = new StoreScripts[0];
		List<Runnable> open = new ArrayList<>(this.shards.values().stream().map(ChannelWatch::stop).toList());
		this.shards.clear();
		open.add(this.masters::stop);
		return open;
	}

	/** Channel at one master. */
	private final class Shard extends ChannelWatch {

		private final int channelSlot;

		private final int keySlot;

		private final StoreScripts scripts;

		private RedisClusterNode master;

		private boolean refused;

		/**
		 * Create the channel.
		 * @param suffix the suffix of the channels in the slot
		 */
		Shard(RedisClusterNode master, int channelSlot, int keySlot, String suffix, NotificationListener listener) {
			super(listener, true, keyAt(keySlot));
			this.master = master;
			this.channelSlot = channelSlot;
			this.keySlot = keySlot;
			this.scripts = StoreScripts.of(ShardedChannels.this.options, true, suffix);
		}

		boolean isAt(RedisClusterNode now, int nowChannelSlot, int nowKeySlot) {
			return this.channelSlot == nowChannelSlot && this.keySlot == nowKeySlot
					&& this.master.getUri().equals(now.getUri());
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
