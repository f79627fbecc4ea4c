package io.holdfast.chaos;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;

import io.holdfast.chaos.Fault.Kind;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.SentinelRedis;
import io.holdfast.testing.TestRedis;

/**
 * The Redis of a round, by itself or with a replica.
 */
sealed interface Servers {

	/** What can go wrong with it and with its instances. */
	Set<Kind> faults();

	/** What tells an instance of it, besides a host and a port. */
	List<String> properties();

	/** The server that is used now. */
	RedisServer master();

	/** Kill the server that is used. Blocks until there is one that grants again. */
	void killMaster();

	/** Have another server take over while the one that is used lives. */
	void failOver();

	/**
	 * One that keeps nothing: started again, it knows of nothing.
	 */
	record One(RedisServer master) implements Servers {

		@Override
		public Set<Kind> faults() {
			return EnumSet.complementOf(EnumSet.of(Kind.FAIL_OVER));
		}

		@Override
		public List<String> properties() {
			return List.of();
		}

		@Override
		public void killMaster() {
			this.master.restart();
		}

		@Override
		public void failOver() {
			throw new UnsupportedOperationException();
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
			return EnumSet
				.complementOf(EnumSet.of(Kind.BLACK_HOLE, Kind.DOWN, Kind.DELAY, Kind.LOST_REPLY, Kind.RESET));
		}

		@Override
		public List<String> properties() {
			return this.servers.properties();
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

	}

}
