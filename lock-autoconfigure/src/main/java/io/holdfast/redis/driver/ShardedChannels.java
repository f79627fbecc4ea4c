package io.holdfast.redis.driver;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

import io.holdfast.redis.driver.ClusterMasters.Master;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.script.StoreScripts;
import io.lettuce.core.RedisURI;
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

	/**
	 * Create the channels, which are used once the instance has started.
	 * @param keyPrefix the prefix of a key that is never there
	 */
	public ShardedChannels(ClusterMasters masters, RedisStoreOptions options, String keyPrefix) {
		this.masters = masters;
		this.options = options;
		this.keyPrefix = keyPrefix;
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
		Collection<Master> now = this.masters.masters();
		// A single one has no others to spare the messages.
		for (Master master : (now.size() > 1) ? now : List.<Master>of()) {
			Shard known = before.get(master.id());
			int channelSlot = slotAt(master, channel, master.firstSlot());
			int keySlot = slotAt(master, this.keyPrefix, master.lastSlot());
			if (!master.slots().get(channelSlot) || !master.slots().get(keySlot)) {
				continue;
			}
			if (known != null && known.isAt(master, channelSlot)) {
				before.remove(master.id());
				known.update(master, keySlot);
			}
			else {
				String name = ClusterMasters.keyAt(channelSlot, channel + ":");
				Shard shard = new Shard(master, channelSlot, keySlot, name.substring(channel.length()), listener);
				this.shards.put(master.id(), shard);
				shard.subscribe(name);
			}
		}
		before.forEach((id, shard) -> {
			this.shards.remove(id, shard);
			listener.inBackground(shard.stop());
		});
		publish();
		this.shards.values().forEach((shard) -> shard.resolveDoubt());
		boolean missing = this.shards.values().stream().anyMatch((shard) -> !shard.isListening() && !shard.refused);
		this.misses = missing ? this.misses + 1 : 0;
		if (missing && (this.misses <= MISSES || this.misses % MISSES == 0)) {
			// Its slot or its master may have gone, which the driver is not told of.
			this.masters.refresh();
		}
	}

	/** Return the slot of keys with a prefix: by its tag, if it has one. */
	private static int slotAt(Master master, String prefix, int chosen) {
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
			.forEach((shard) -> shard.master.slots().stream().forEach((slot) -> table[slot] = shard.scripts()));
		this.scripts = table;
	}

	/**
	 * Use none of them any more; return the ends of the subscriptions, still to be run.
	 */
	List<Runnable> end() {
		this.scripts = new StoreScripts[0];
		List<Runnable> open = this.shards.values().stream().map(ChannelWatch::stop).toList();
		this.shards.clear();
		return open;
	}

	/** Close the connections. Blocks shortly. */
	void stop() {
		this.masters.stop();
	}

	/** The channel at one master. */
	private final class Shard extends ChannelWatch {

		private final int slot;

		/** The ending of the channels in its slot. */
		private final String suffix;

		private Master master;

		private int keySlot;

		private @Nullable StoreScripts scripts;

		private boolean refused;

		Shard(Master master, int slot, int keySlot, String suffix, NotificationListener listener) {
			super(listener, true, keyAt(keySlot));
			this.master = master;
			this.slot = slot;
			this.keySlot = keySlot;
			this.suffix = suffix;
		}

		boolean isAt(Master now, int nowSlot) {
			return this.slot == nowSlot && this.master.uri().equals(now.uri());
		}

		void update(Master now, int nowKeySlot) {
			this.master = now;
			if (this.keySlot != nowKeySlot) {
				this.keySlot = nowKeySlot;
				pingBy(keyAt(nowKeySlot));
			}
		}

		StoreScripts scripts() {
			StoreScripts made = this.scripts;
			if (made == null) {
				made = StoreScripts.of(ShardedChannels.this.options, true, this.suffix);
				this.scripts = made;
			}
			return made;
		}

		@Override
		Supplier<StatefulRedisPubSubConnection<byte[], byte[]>> connector() {
			resolveDoubt();
			Master at = this.master;
			return () -> ShardedChannels.this.masters.connect(at);
		}

		@Override
		void onChange() {
			publish();
			super.onChange();
		}

		@Override
		void onTrouble(@Nullable String reason, boolean refused) {
			this.refused = refused;
			if (!refused && isInDoubt()) {
				RedisURI at = this.master.uri();
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
