package io.holdfast.redis.driver;

import java.util.Collection;

import org.springframework.data.redis.connection.NamedNode;
import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisConfiguration.ClusterConfiguration;
import org.springframework.data.redis.connection.RedisConfiguration.DomainSocketConfiguration;
import org.springframework.data.redis.connection.RedisConfiguration.SentinelConfiguration;
import org.springframework.data.redis.connection.RedisConfiguration.WithDatabaseIndex;
import org.springframework.data.redis.connection.RedisConfiguration.WithHostAndPort;
import org.springframework.data.redis.connection.RedisNode;

/** Address of a Redis for messages, without user and password. */
final class RedisAddress {

	private static final int SHOWN = 3;

	private RedisAddress() {
	}

	static String describe(RedisConfiguration configuration) {
		int database = (configuration instanceof WithDatabaseIndex indexed) ? indexed.getDatabase() : 0;
		return server(configuration) + ((database != 0) ? ", database " + database : "");
	}

	private static String server(RedisConfiguration configuration) {
		if (configuration instanceof ClusterConfiguration cluster) {
			return "the cluster of " + nodes(cluster.getClusterNodes());
		}
		if (configuration instanceof SentinelConfiguration sentinel) {
			NamedNode master = sentinel.getMaster();
			return "the master " + ((master != null) ? "'" + master.getName() + "' " : "") + "of the sentinels "
					+ nodes(sentinel.getSentinels());
		}
		if (configuration instanceof DomainSocketConfiguration socket) {
			return socket.getSocket();
		}
		if (configuration instanceof WithHostAndPort address) {
			return address.getHostName() + ":" + address.getPort();
		}
		return "the nodes of its configuration";
	}

	private static String nodes(Collection<RedisNode> nodes) {
		String shown = String.join(", ", nodes.stream().map(RedisNode::asString).sorted().limit(SHOWN).toList());
		return (nodes.size() > SHOWN) ? shown + " and " + (nodes.size() - SHOWN) + " more" : shown;
	}

}
