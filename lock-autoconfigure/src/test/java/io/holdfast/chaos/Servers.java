package io.holdfast.chaos;

import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

import io.holdfast.chaos.Fault.Kind;
import io.holdfast.testing.FaultProxy;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.SentinelRedis;
import io.holdfast.testing.TestRedis;

import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.awaitility.Awaitility.await;

/**
 * The Redis servers of a round: a single server, or a server and a replica.
 */
sealed interface Servers {

	/** Return the possible faults of the servers and their instances. */
	Set<Kind> faults();

	/** Return the properties of an instance for these servers, besides host and port. */
	List<String> properties();

	/** Return the address of the present server. */
	String host();

	/** Port of that address. */
	int port();

	/** Return the present server. */
	RedisServer master();

	/** Kill the master. Blocks until a server grants again. */
	void killMaster();

	/** Fail over to another server while the master lives. */
	void failOver();

	/**
	 * Fail over to another server while the master lives and keeps its connections.
	 */
	void demoteMaster();

	/**
	 * A master and a replica behind the same address. A master without persistence: after
	 * a restart its data are gone.
	 */
	final class Pair implements Servers {

		private final FaultProxy address;

		private Member master;

		private Member replica;

		private Pair(FaultProxy address, Member master, Member replica) {
			this.address = address;
			this.master = master;
			this.replica = replica;
		}

		static Pair start(TestRedis redis) {
			Member master = Member.start(redis);
			Member replica = Member.start(redis);
			replica.replicate(master);
			FaultProxy address = FaultProxy.to(master.server().host(), master.server().port());
			redis.closeAtEnd(address::close);
			return new Pair(address, master, replica);
		}

		@Override
		public Set<Kind> faults() {
			return EnumSet.complementOf(EnumSet.of(Kind.FAIL_OVER));
		}

		@Override
		public List<String> properties() {
			return List.of();
		}

		@Override
		public String host() {
			return this.address.host();
		}

		@Override
		public int port() {
			return this.address.port();
		}

		@Override
		public RedisServer master() {
			return this.master.server();
		}

		@Override
		public void killMaster() {
			this.master.server().restart();
		}

		@Override
		public void failOver() {
			throw new UnsupportedOperationException();
		}

		@Override
		public void demoteMaster() {
			Member old = this.master;
			Member next = this.replica;
			next.awaitReplicated();
			// The old master must not grant after the last replicated write.
			old.replicate(next);
			next.promote();
			this.address.redirect(next.server().host(), next.server().port());
			this.master = next;
			this.replica = old;
		}

		/** A server of the pair. */
		private record Member(RedisServer server, StringRedisTemplate template) {

			static Member start(TestRedis redis) {
				RedisServer server = redis.startServer();
				return new Member(server,
						new StringRedisTemplate(redis.connectionFactory(server.host(), server.port())));
			}

			void replicate(Member other) {
				replicate(other.server.host(), Integer.toString(other.server.port()));
			}

			void promote() {
				replicate("NO", "ONE");
			}

			private void replicate(String host, String port) {
				this.template.execute((RedisCallback<Object>) (connection) -> String
					.valueOf(connection.execute("REPLICAOF", host.getBytes(), port.getBytes())));
			}

			void awaitReplicated() {
				await("replica").atMost(Duration.ofSeconds(60))
					.ignoreExceptionsInstanceOf(DataAccessException.class)
					.until(() -> "up".equals(
							this.template.execute((RedisCallback<String>) (connection) -> connection.serverCommands()
								.info("replication")
								.getProperty("master_link_status"))));
			}

		}

	}

	/**
	 * A master whose replica may lack the last writes, and which refuses writes without a
	 * replica: otherwise the master would renew leases unknown to its successor.
	 * Instances find the master through Sentinel, so there is no proxy.
	 */
	record Replicated(SentinelRedis servers) implements Servers {

		static Replicated start(TestRedis redis) {
			return new Replicated(
					redis.startSentinel(1, "--min-replicas-to-write", "1", "--min-replicas-max-lag", "2"));
		}

		@Override
		public Set<Kind> faults() {
			return EnumSet.complementOf(
					EnumSet.of(Kind.BLACK_HOLE, Kind.DOWN, Kind.DELAY, Kind.LOST_REPLY, Kind.RESET, Kind.DEMOTE));
		}

		@Override
		public List<String> properties() {
			return this.servers.properties();
		}

		@Override
		public String host() {
			return master().host();
		}

		@Override
		public int port() {
			return master().port();
		}

		@Override
		public RedisServer master() {
			return this.servers.master();
		}

		@Override
		public void killMaster() {
			RedisServer old = master();
			old.kill();
			this.servers.watchClosely();
			this.servers.awaitFailOver(old);
			old.restart();
			this.servers.awaitReplica(old);
		}

		@Override
		public void failOver() {
			RedisServer old = master();
			this.servers.failOver();
			this.servers.awaitReplica(old);
		}

		@Override
		public void demoteMaster() {
			throw new UnsupportedOperationException();
		}

	}

}
