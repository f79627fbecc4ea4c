package io.holdfast.testing;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.lettuce.core.MigrateArgs;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.cluster.SlotHash;

import org.springframework.data.redis.connection.RedisClusterConfiguration;

import static org.awaitility.Awaitility.await;

/**
 * Cluster of masters, which are processes of the {@link RedisBinary}. Slots can be moved,
 * and replicas can be added, which take over. Not thread-safe.
 */
public final class RedisCluster {

	private static final Duration PATIENCE = Duration.ofSeconds(30);

	private final TestRedis redis;

	/** Running nodes. */
	private final List<RedisServer> nodes = new ArrayList<>();

	RedisCluster(TestRedis redis, int size) {
		this.redis = redis;
		for (int i = 0; i < size; i++) {
			startNode();
		}
		RedisServer first = this.nodes.get(0);
		for (int i = 0; i < size; i++) {
			// Not in the order of the slots.
			int from = (size - 1 - i) * SlotHash.SLOT_COUNT / size;
			int until = (size - i) * SlotHash.SLOT_COUNT / size;
			int epoch = i + 1;
			this.nodes.get(i).run((commands) -> {
				// Otherwise, nodes of the same epoch could claim the same slots.
				commands.clusterSetConfigEpoch(epoch);
				commands.clusterAddSlots(IntStream.range(from, until).toArray());
				return commands.clusterMeet(first.host(), first.port());
			});
		}
		this.nodes.forEach((node) -> await("all nodes connected").atMost(PATIENCE)
			.until(() -> node.run((commands) -> commands.clusterInfo().contains("cluster_state:ok")
					&& commands.clusterNodes().lines().filter((line) -> line.contains("connected")).count() == size)));
		awaitAgreement();
	}

	private RedisServer startNode() {
		// Otherwise, a master waits for further replicas before the first data.
		RedisServer node = this.redis.startServer("--cluster-enabled", "yes");
		this.nodes.add(node);
		return node;
	}

	/**
	 * Wait until all nodes agree about the owners of the slots. If two slots move at the
	 * same time, outdated messages may make a node claim a slot back, which has no owner
	 * then.
	 */
	private void awaitAgreement() {
		await("all nodes of one mind").atMost(PATIENCE)
			.pollInterval(Duration.ofMillis(10))
			.until(() -> this.nodes.stream().map((node) -> node.run(RedisCluster::view)).distinct().count() == 1);
	}

	/** Return the node, its master, epoch and slots, for each node. */
	private static Set<List<String>> view(RedisCommands<String, String> commands) {
		return commands.clusterNodes()
			.lines()
			.map((line) -> List.of(line.split(" ")))
			.map((words) -> Stream
				.concat(Stream.of(words.get(0), words.get(3), words.get(6)),
						words.stream().skip(8).filter((slots) -> !slots.startsWith("[")))
				.toList())
			.collect(Collectors.toSet());
	}

	/**
	 * Return the properties of an application that uses this Redis.
	 * @return the properties, as {@code name=value}
	 */
	public List<String> properties() {
		return List.of("spring.data.redis.cluster.nodes=" + String.join(",", addresses()));
	}

	/** Return the configuration of a connection factory for this Redis. */
	public RedisClusterConfiguration configuration() {
		return new RedisClusterConfiguration(addresses());
	}

	private List<String> addresses() {
		return this.nodes.stream().map((node) -> node.host() + ":" + node.port()).toList();
	}

	/**
	 * Return the nodes.
	 * @return the running nodes, in no order
	 */
	public List<RedisServer> nodes() {
		return List.copyOf(this.nodes);
	}

	/**
	 * Return the node with the slot of a key.
	 * @param key the key in Redis
	 * @return the node, also while the slot moves away
	 */
	public RedisServer nodeOf(String key) {
		int slot = SlotHash.getSlot(key);
		return this.nodes.stream()
			.filter((node) -> node.run((commands) -> hasSlot(commands, slot)))
			.findFirst()
			.orElseThrow();
	}

	private static boolean hasSlot(RedisCommands<String, String> commands, int slot) {
		String self = commands.clusterNodes()
			.lines()
			.filter((line) -> line.contains("myself"))
			.findFirst()
			.orElseThrow();
		return Stream.of(self.split(" ")).skip(8).filter((range) -> !range.startsWith("[")).anyMatch((range) -> {
			int dash = range.indexOf('-');
			int from = Integer.parseInt((dash < 0) ? range : range.substring(0, dash));
			return from <= slot && slot <= ((dash < 0) ? from : Integer.parseInt(range.substring(dash + 1)));
		});
	}

	/**
	 * Begin to move the slot of a key to another node. No key is moved by this, but
	 * missing keys are looked for at the other node.
	 * @param key a key in the slot
	 * @return the move
	 */
	public Move move(String key) {
		RedisServer from = nodeOf(key);
		return new Move(SlotHash.getSlot(key), from,
				this.nodes.get((this.nodes.indexOf(from) + 1) % this.nodes.size()));
	}

	/**
	 * Start a replica of a master, which takes over when the master dies.
	 * @param master the master
	 * @return the running replica, which is a node of the cluster now
	 */
	public RedisServer addReplica(RedisServer master) {
		RedisServer replica = startNode();
		String id = idOf(master);
		replica.run((commands) -> commands.clusterMeet(master.host(), master.port()));
		await("the master known").atMost(PATIENCE)
			.until(() -> replica.run((commands) -> commands.clusterNodes().contains(id)));
		replica.run((commands) -> commands.clusterReplicate(id));
		awaitReplica(replica);
		return replica;
	}

	/**
	 * Wait until a master's replica has all current data of the master.
	 * @param master the master
	 * @param key an unused key in a slot of the master
	 */
	public void awaitReplicated(RedisServer master, String key) {
		await("all replicated").atMost(PATIENCE)
			.until(() -> master.run((commands) -> commands.set(key, "?").equals("OK")
					&& commands.waitForReplication(1, 1000) == 1 && commands.del(key) == 1));
	}

	/**
	 * Kill a master, and let the other nodes notice. Returns when the replica has taken
	 * over.
	 * @param master the master
	 * @param replica the replica of the master
	 */
	public void kill(RedisServer master, RedisServer replica) {
		master.kill();
		replace(master, replica);
	}

	/**
	 * Freeze a master, and let the other nodes notice. Returns when the replica has taken
	 * over.
	 * @param master the master
	 * @param replica the replica of the master
	 */
	public void freeze(RedisServer master, RedisServer replica) {
		master.freeze();
		replace(master, replica);
	}

	/** Continue a frozen master. Returns when the node is a replica. */
	public void thaw(RedisServer node) {
		node.thaw();
		this.nodes.add(node);
		awaitReplica(node);
	}

	private void replace(RedisServer master, RedisServer replica) {
		this.nodes.remove(master);
		setNodeTimeout(Duration.ofSeconds(1));
		awaitMaster(replica);
		setNodeTimeout(Duration.ofSeconds(15));
	}

	/**
	 * Let a replica take over from a master that is alive. Returns when the master is a
	 * replica of the replica.
	 * @param master the master
	 * @param replica the replica of the master
	 * @param how the mode of the command
	 */
	public void failOver(RedisServer master, RedisServer replica, FailOver how) {
		replica.run((commands) -> commands.clusterFailover(how == FailOver.FORCE, how == FailOver.TAKEOVER));
		awaitMaster(replica);
		awaitReplica(master);
	}

	/** Restart a killed master. Returns when the node is a replica. */
	public void restart(RedisServer node) {
		node.restart();
		this.nodes.add(node);
		awaitReplica(node);
	}

	private void awaitMaster(RedisServer node) {
		await("master on port " + node.port()).atMost(PATIENCE)
			.pollInterval(Duration.ofMillis(10))
			.until(() -> node.run((commands) -> commands.info("replication")), (told) -> told.contains("role:master"));
		awaitAgreement();
		await("all slots served").atMost(PATIENCE)
			.until(() -> this.nodes.stream()
				.allMatch((one) -> one.run((commands) -> commands.clusterInfo().contains("cluster_state:ok"))));
	}

	/**
	 * Wait until a node receives the data of its master.
	 * @param node a replica, or a master that becomes a replica
	 */
	public void awaitReplica(RedisServer node) {
		await("replica on port " + node.port()).atMost(PATIENCE)
			.until(() -> node.run((commands) -> commands.info("replication")),
					(told) -> told.contains("master_link_status:up"));
		awaitAgreement();
	}

	private void setNodeTimeout(Duration time) {
		this.nodes.forEach((node) -> node
			.run((commands) -> commands.configSet("cluster-node-timeout", Long.toString(time.toMillis()))));
	}

	private String idOf(RedisServer node) {
		return node.run(RedisCommands::clusterMyId);
	}

	/** Mode of a fail-over from a master that is alive. */
	public enum FailOver {

		/** The master stops writes first, and the replica receives all earlier writes. */
		AGREED,

		/**
		 * Without the agreement of the master, but with the agreement of the other nodes.
		 */
		FORCE,

		/** Without the agreement of other nodes. */
		TAKEOVER

	}

	/** Slot under way, as in {@code redis-cli --cluster reshard}. */
	public final class Move {

		private final int slot;

		private final RedisServer from;

		private final RedisServer to;

		private Move(int slot, RedisServer from, RedisServer to) {
			this.slot = slot;
			this.from = from;
			this.to = to;
			to.run((commands) -> commands.clusterSetSlotImporting(slot, idOf(from)));
			from.run((commands) -> commands.clusterSetSlotMigrating(slot, idOf(to)));
		}

		/**
		 * Move some of the keys.
		 * @param keys the keys. Missing keys are ignored
		 * @return this
		 */
		public Move keys(List<String> keys) {
			this.from.run((commands) -> commands.migrate(this.to.host(), this.to.port(), 0, 10_000,
					MigrateArgs.Builder.keys(keys)));
			return this;
		}

		/** Move all remaining keys, and the slot. */
		public void finish() {
			for (List<String> keys = left(); !keys.isEmpty(); keys = left()) {
				keys(keys);
			}
			String owner = idOf(this.to);
			this.to.run((commands) -> commands.clusterSetSlotNode(this.slot, owner));
			RedisCluster.this.nodes
				.forEach((node) -> node.run((commands) -> commands.clusterSetSlotNode(this.slot, owner)));
			awaitAgreement();
		}

		private List<String> left() {
			return this.from.run((commands) -> commands.clusterGetKeysInSlot(this.slot, 100));
		}

	}

}
