package io.holdfast.testing;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

import io.lettuce.core.KillArgs;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.sentinel.api.StatefulRedisSentinelConnection;
import io.lettuce.core.sentinel.api.sync.RedisSentinelCommands;
import org.awaitility.core.ConditionTimeoutException;

import org.springframework.data.redis.connection.RedisSentinelConfiguration;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * Master, replicas, and a sentinel that decides alone. All are processes of the
 * {@link RedisBinary}. The replication can be cut, and the master can be replaced. The
 * sentinel notices a dead master only after {@link #watchClosely()}, so that no master is
 * replaced because the machine is busy. Not thread-safe.
 */
public final class SentinelRedis {

	/** Name of the master. */
	public static final String NAME = "holdfast";

	/**
	 * Maximum wait. A sentinel that cannot be {@link #tune tuned} checks every ten
	 * seconds.
	 */
	private static final Duration PATIENCE = Duration.ofSeconds(60);

	/** Time after which the sentinel gives up a stuck fail-over, without a message. */
	private static final Duration FAIL_OVER_TIME = Duration.ofSeconds(10);

	private static final Duration POLL = Duration.ofMillis(20);

	/** Command of Redis 7.0 and newer. */
	private static final String TUNING = "SENTINEL DEBUG";

	private static final String NO_GOOD_REPLICA = "NOGOODSLAVE";

	/** Four periods after its first answer, a replaced master is made a replica. */
	private static final String PUBLISH_PERIOD = "publish-period";

	private final List<RedisServer> servers = new ArrayList<>();

	private final RedisServer sentinel;

	private boolean tuned = true;

	SentinelRedis(TestRedis redis, int replicas, String... config) {
		for (int i = 0; i <= replicas; i++) {
			this.servers.add(redis.startServer(config));
		}
		RedisServer master = this.servers.get(0);
		for (RedisServer replica : this.servers.subList(1, this.servers.size())) {
			replica.run((commands) -> commands.replicaof(master.host(), master.port()));
		}
		this.sentinel = redis.startServer("--sentinel");
		onSentinel((commands) -> {
			// The sentinel checks and acts more often, also on a busy machine.
			this.tuned = tune(commands, Map.of("info-period", 250, PUBLISH_PERIOD, 250, "tilt-trigger", 60_000));
			return commands.monitor(NAME, master.host(), master.port(), 1);
		});
		onSentinel((commands) -> commands.set(NAME, "failover-timeout", Long.toString(FAIL_OVER_TIME.toMillis())));
		setDownAfter(Duration.ofMinutes(10));
		this.servers.subList(1, this.servers.size()).forEach(this::awaitReplica);
	}

	/**
	 * Return the properties of an application that uses this Redis.
	 * @return the properties, as {@code name=value}
	 */
	public List<String> properties() {
		return List.of("spring.data.redis.sentinel.master=" + NAME,
				"spring.data.redis.sentinel.nodes=" + this.sentinel.host() + ":" + this.sentinel.port());
	}

	/** Return the configuration of a connection factory for this Redis. */
	public RedisSentinelConfiguration configuration() {
		return new RedisSentinelConfiguration().master(NAME).sentinel(this.sentinel.host(), this.sentinel.port());
	}

	/**
	 * Return the current master according to the sentinel.
	 * @return the server, possibly dead or frozen
	 */
	public RedisServer master() {
		int port = onSentinel((commands) -> ((InetSocketAddress) commands.getMasterAddrByName(NAME)).getPort());
		return this.servers.stream().filter((server) -> server.port() == port).findFirst().orElseThrow();
	}

	/**
	 * Return all servers except the sentinel.
	 * @return the servers, the first master first
	 */
	public List<RedisServer> servers() {
		return List.copyOf(this.servers);
	}

	/**
	 * Return the replication id of the master, which changes with each start and
	 * promotion.
	 */
	public String replicationId() {
		return master().run((commands) -> commands.info("replication").lines())
			.filter((line) -> line.startsWith("master_replid:"))
			.map((line) -> line.substring(line.indexOf(':') + 1).strip())
			.findFirst()
			.orElseThrow();
	}

	/**
	 * Cut the replication. The replicas have received all earlier writes, and receive no
	 * later writes.
	 */
	public void cutReplication() {
		RedisServer master = master();
		awaitReplicated();
		for (RedisServer replica : this.servers) {
			if (replica != master) {
				// The replica's reconnects are refused.
				replica.run((commands) -> commands.configSet("masterauth", "cut"));
			}
		}
		master.run((commands) -> commands.clientKill(KillArgs.Builder.typeSlave()));
		await("replication cut").atMost(PATIENCE)
			.pollInterval(POLL)
			.until(() -> master.run((commands) -> commands.info("replication")).contains("connected_slaves:0"));
	}

	/** Restore the replication of all running replicas. */
	public void mendReplication() {
		this.servers.forEach((server) -> server.run((commands) -> commands.configSet("masterauth", "")));
	}

	/** Wait until the replicas have all current data of the master. */
	public void awaitReplicated() {
		Long replicas = (long) this.servers.size() - 1;
		await("all replicated").atMost(PATIENCE)
			.until(() -> master().run((commands) -> commands.set("replicated", "?").equals("OK")
					&& commands.waitForReplication(replicas.intValue(), 1000).equals(replicas)
					&& commands.del("replicated") >= 0));
	}

	/** Let the sentinel take a master for dead after a second without an answer. */
	public void watchClosely() {
		watchClosely(Duration.ofSeconds(1));
	}

	/**
	 * Let the sentinel take a silent master for dead.
	 * @param downAfter the time without an answer
	 */
	public void watchClosely(Duration downAfter) {
		setDownAfter(downAfter);
	}

	/**
	 * Let the sentinel leave a replaced, silent master alone after its return, as if the
	 * network between both was broken. Skips the test if the sentinel does not support
	 * that.
	 */
	public void leaveOldMaster() {
		assumeTrue(this.tuned, TUNING + " is needed, which Redis has from 7.0 on");
		onSentinel((commands) -> tune(commands, Map.of(PUBLISH_PERIOD, 600_000)));
	}

	/**
	 * Let the sentinel make a replaced master a replica. Returns when the server is a
	 * replica.
	 * @param old the replaced master, which must answer
	 */
	public void demote(RedisServer old) {
		if (this.tuned) {
			onSentinel((commands) -> tune(commands, Map.of(PUBLISH_PERIOD, 250)));
		}
		awaitReplica(old);
	}

	/** Tune the sentinel. Return whether the sentinel supports that. */
	private static boolean tune(RedisSentinelCommands<String, String> commands, Map<String, Integer> times) {
		CommandArgs<String, String> args = new CommandArgs<>(StringCodec.UTF8).add("DEBUG");
		times.forEach((name, millis) -> args.add(name).add(millis));
		try {
			return commands.dispatch(CommandType.SENTINEL, new StatusOutput<>(StringCodec.UTF8), args).equals("OK");
		}
		catch (RedisCommandExecutionException ex) {
			if (String.valueOf(ex.getMessage()).startsWith("ERR Unknown ")) {
				return false;
			}
			throw ex;
		}
	}

	/**
	 * Let the sentinel replace the master immediately, dead or alive. A living old master
	 * learns of the fail-over some seconds later.
	 */
	public RedisServer failOver() {
		RedisServer old = master();
		for (int times = 0; times < 4 && master() == old; times++) {
			await("a replica to take over").atMost(PATIENCE).until(this::beginFailOver);
			try {
				return awaitFailOver(old, FAIL_OVER_TIME.multipliedBy(2));
			}
			catch (ConditionTimeoutException ex) {
				// The chosen replica was just frozen or away. Try again.
			}
		}
		return awaitFailOver(old);
	}

	private boolean beginFailOver() {
		try {
			return onSentinel((commands) -> commands.failover(NAME)).equals("OK");
		}
		catch (RedisCommandExecutionException ex) {
			if (String.valueOf(ex.getMessage()).contains(NO_GOOD_REPLICA)) {
				return false;
			}
			if (String.valueOf(ex.getMessage()).contains("INPROG")) {
				return true;
			}
			throw ex;
		}
	}

	/** Wait until the sentinel has replaced a master. */
	public RedisServer awaitFailOver(RedisServer old) {
		return awaitFailOver(old, PATIENCE);
	}

	private RedisServer awaitFailOver(RedisServer old, Duration patience) {
		await("another master").atMost(patience).pollInterval(POLL).until(() -> master() != old);
		setDownAfter(Duration.ofMinutes(10));
		return master();
	}

	/**
	 * Wait until a server receives the data of the master, and the sentinel knows that.
	 * @param server a running server, possibly a former master
	 */
	public void awaitReplica(RedisServer server) {
		await("replica on port " + server.port()).atMost(PATIENCE)
			.pollInterval(POLL)
			// A master that becomes a replica closes its clients' connections.
			.ignoreExceptionsInstanceOf(RedisException.class)
			.until(() -> isReplica(server) && isKnown(server));
	}

	private boolean isReplica(RedisServer server) {
		String told = server.run((commands) -> commands.info("replication"));
		return told.contains("role:slave") && told.contains("master_port:" + master().port())
				&& told.contains("master_link_status:up");
	}

	private boolean isKnown(RedisServer replica) {
		return onSentinel((commands) -> commands.replicas(NAME)).stream()
			.anyMatch((known) -> Integer.toString(replica.port()).equals(known.get("port"))
					&& "ok".equals(known.get("master-link-status")));
	}

	private void setDownAfter(Duration time) {
		onSentinel((commands) -> commands.set(NAME, "down-after-milliseconds", Long.toString(time.toMillis())));
	}

	private <T> T onSentinel(Function<RedisSentinelCommands<String, String>, T> use) {
		try (StatefulRedisSentinelConnection<String, String> connection = RedisServer.CLIENT
			.connectSentinel(RedisURI.create(this.sentinel.host(), this.sentinel.port()))) {
			return use.apply(connection.sync());
		}
	}

}
