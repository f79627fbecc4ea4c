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
 * The Redis of a round, by itself or with a replica.
 */
sealed interface Servers {

	/** What can go wrong with it and with its instances. */
	Set<Kind> faults();

	/** What tells an instance of it, besides a host and a port. */
	List<String> properties();

	/** Address of the server that is used now. */
	String host();

	/** Port of that address. */
	int port();

	/** The server that is used now. */
	RedisServer master();

	/** Kill the server that is used. Blocks until there is one that grants again. */
	void killMaster();

	/** Have another server take over while the one that is used lives. */
	void failOver();

	/**
	 * Have another server take over while the one that is used lives, and keeps its
	 * connections.
	 */
	void demoteMaster();

	/**
	 * A master and a replica behind one address. The master keeps nothing: started again,
	 * it knows of nothing.
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
			// It must not grant what the next one does not know.
			old.replicate(next);
			next.promote();
			this.address.redirect(next.server().host(), next.server().port());
			this.master = next;
			this.replica = old;
		}

		/** One of both. */
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
	 * A master, of which its replica may lack the last writes, and which takes none while
	 * it has no replica: otherwise it would renew leases of which its successor does not
	 * know. Instances find it by themselves, so no proxy is between.
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
