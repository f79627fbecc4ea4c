package io.holdfast.testing;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

import io.lettuce.core.KillArgs;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
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
 * A master, its replicas and a sentinel that decides alone: processes of the
 * {@link RedisBinary}, whose replication can be cut and whose master can be replaced. The
 * sentinel notices a dead master only when {@link #watchClosely() told to}, so that none
 * is replaced because the machine is busy. Not thread-safe.
 */
public final class SentinelRedis implements AutoCloseable {

	/** The master's name. */
	public static final String NAME = "holdfast";

	/** A sentinel that cannot be {@link #tune tuned} looks every ten seconds. */
	private static final Duration PATIENCE = Duration.ofSeconds(60);

	/**
	 * After that the sentinel drops a fail-over that does not get on, and says nothing.
	 */
	private static final Duration FAIL_OVER_TIME = Duration.ofSeconds(10);

	private static final Duration POLL = Duration.ofMillis(20);

	/** From Redis 7.0 on. */
	private static final String TUNING = "SENTINEL DEBUG";

	private static final String NO_GOOD_REPLICA = "NOGOODSLAVE";

	/** Four of these after it answers again, a replaced master is made a replica. */
	private static final String PUBLISH_PERIOD = "publish-period";

	private final RedisClient client;

	private final List<RedisServer> servers = new ArrayList<>();

	private final RedisServer sentinel;

	private boolean tuned = true;

	SentinelRedis(TestRedis redis, int replicas, String... config) {
		this.client = RedisClient.create(TestRedis.RESOURCES);
		for (int i = 0; i <= replicas; i++) {
			this.servers.add(redis.startServer(config));
		}
		RedisServer master = this.servers.get(0);
		for (RedisServer replica : this.servers.subList(1, this.servers.size())) {
			on(replica, (commands) -> commands.replicaof(master.host(), master.port()));
		}
		this.sentinel = redis.startServer("--sentinel");
		onSentinel((commands) -> {
			// It looks and acts more often, and lets no busy machine stop it.
			this.tuned = tune(commands, Map.of("info-period", 250, PUBLISH_PERIOD, 250, "tilt-trigger", 60_000));
			return commands.monitor(NAME, master.host(), master.port(), 1);
		});
		onSentinel((commands) -> commands.set(NAME, "failover-timeout", Long.toString(FAIL_OVER_TIME.toMillis())));
		setDownAfter(Duration.ofMinutes(10));
		this.servers.subList(1, this.servers.size()).forEach(this::awaitReplica);
	}

	/**
	 * What tells an application to use this Redis.
	 * @return properties of its environment, as {@code name=value}
	 */
	public List<String> properties() {
		return List.of("spring.data.redis.sentinel.master=" + NAME,
				"spring.data.redis.sentinel.nodes=" + this.sentinel.host() + ":" + this.sentinel.port());
	}

	/** What tells a connection factory to use this Redis. */
	public RedisSentinelConfiguration configuration() {
		return new RedisSentinelConfiguration().master(NAME).sentinel(this.sentinel.host(), this.sentinel.port());
	}

	/**
	 * Whom the sentinel takes for the master now.
	 * @return the server, perhaps dead or frozen
	 */
	public RedisServer master() {
		int port = onSentinel((commands) -> ((InetSocketAddress) commands.getMasterAddrByName(NAME)).getPort());
		return this.servers.stream().filter((server) -> server.port() == port).findFirst().orElseThrow();
	}

	/**
	 * All servers, besides the sentinel.
	 * @return the first master first
	 */
	public List<RedisServer> servers() {
		return List.copyOf(this.servers);
	}

	/**
	 * Ask one server.
	 * @param server the server, which answers
	 * @param use what to ask
	 * @return its answer
	 */
	public <T> T on(RedisServer server, Function<RedisCommands<String, String>, T> use) {
		try (StatefulRedisConnection<String, String> connection = this.client
			.connect(RedisURI.create(server.host(), server.port()))) {
			return use.apply(connection.sync());
		}
	}

	/** What the master is known by, as long as it is master and runs. */
	public String replicationId() {
		return on(master(), (commands) -> commands.info("replication").lines())
			.filter((line) -> line.startsWith("master_replid:"))
			.map((line) -> line.substring(line.indexOf(':') + 1).strip())
			.findFirst()
			.orElseThrow();
	}

	/**
	 * Have no replica receive anything any more. All that was written before has got to
	 * them, what is written from now on does not.
	 */
	public void cutReplication() {
		RedisServer master = master();
		awaitReplicated();
		for (RedisServer replica : this.servers) {
			if (replica != master) {
				// It is refused when it comes again.
				on(replica, (commands) -> commands.configSet("masterauth", "cut"));
			}
		}
		on(master, (commands) -> commands.clientKill(KillArgs.Builder.typeSlave()));
		await("replication cut").atMost(PATIENCE)
			.pollInterval(POLL)
			.until(() -> on(master, (commands) -> commands.info("replication")).contains("connected_slaves:0"));
	}

	/** Let all replicas that run receive again what their master has. */
	public void mendReplication() {
		this.servers.forEach((server) -> on(server, (commands) -> commands.configSet("masterauth", "")));
	}

	/** Wait until the replicas have all that the master has now. */
	public void awaitReplicated() {
		Long replicas = (long) this.servers.size() - 1;
		await("all replicated").atMost(PATIENCE)
			.until(() -> on(master(),
					(commands) -> commands.set("replicated", "?").equals("OK")
							&& commands.waitForReplication(replicas.intValue(), 1000).equals(replicas)
							&& commands.del("replicated") >= 0));
	}

	/** Have the sentinel take a master that does not answer for dead, after a second. */
	public void watchClosely() {
		watchClosely(Duration.ofSeconds(1));
	}

	/**
	 * Have the sentinel take a master that does not answer for dead.
	 * @param downAfter after which time
	 */
	public void watchClosely(Duration downAfter) {
		setDownAfter(downAfter);
	}

	/**
	 * Have the sentinel leave alone a master that was replaced while it did not answer,
	 * as if the way to it were broken. Aborts the test where none can be told that.
	 */
	public void leaveOldMaster() {
		assumeTrue(this.tuned, TUNING + " is needed, which Redis has from 7.0 on");
		onSentinel((commands) -> tune(commands, Map.of(PUBLISH_PERIOD, 600_000)));
	}

	/**
	 * Have the sentinel make such a master a replica. Returns when it is one.
	 * @param old a master that was replaced, and answers
	 */
	public void demote(RedisServer old) {
		if (this.tuned) {
			onSentinel((commands) -> tune(commands, Map.of(PUBLISH_PERIOD, 250)));
		}
		awaitReplica(old);
	}

	/** Whether it can be tuned. */
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
	 * Have the sentinel replace the master at once, whether that is alive or not. The old
	 * one, if it answers, hears of it some seconds later.
	 */
	public RedisServer failOver() {
		RedisServer old = master();
		for (int times = 0; times < 4 && master() == old; times++) {
			await("a replica to take over").atMost(PATIENCE).until(this::beginFailOver);
			try {
				return awaitFailOver(old, FAIL_OVER_TIME.multipliedBy(2));
			}
			catch (ConditionTimeoutException ex) {
				// The replica that was to take over was just frozen, or away: again.
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
	 * Wait until a server receives from the master what that has, and the sentinel knows.
	 * @param server one that runs, and was master perhaps
	 */
	public void awaitReplica(RedisServer server) {
		await("replica on port " + server.port()).atMost(PATIENCE)
			.pollInterval(POLL)
			// A master that becomes a replica sends its clients away.
			.ignoreExceptionsInstanceOf(RedisException.class)
			.until(() -> isReplica(server) && isKnown(server));
	}

	private boolean isReplica(RedisServer server) {
		String told = on(server, (commands) -> commands.info("replication"));
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
		try (StatefulRedisSentinelConnection<String, String> connection = this.client
			.connectSentinel(RedisURI.create(this.sentinel.host(), this.sentinel.port()))) {
			return use.apply(connection.sync());
		}
	}

	/** Close the connections; the servers end with their test. */
	@Override
	public void close() {
		this.client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
	}

}
