package io.holdfast.testing;

import org.jspecify.annotations.Nullable;

import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.connection.RedisClusterConnection;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisSentinelConnection;

/**
 * Connection factory of another library, with unknown connections: each command may use
 * another connection, as with Redisson.
 */
public class ForeignConnectionFactory implements RedisConnectionFactory {

	private final RedisConnectionFactory connections;

	/** Create the factory. */
	public ForeignConnectionFactory(RedisConnectionFactory connections) {
		this.connections = connections;
	}

	@Override
	public RedisConnection getConnection() {
		return this.connections.getConnection();
	}

	@Override
	public RedisClusterConnection getClusterConnection() {
		return this.connections.getClusterConnection();
	}

	@Override
	public RedisSentinelConnection getSentinelConnection() {
		return this.connections.getSentinelConnection();
	}

	@Override
	public boolean getConvertPipelineAndTxResults() {
		return this.connections.getConvertPipelineAndTxResults();
	}

	@Override
	public @Nullable DataAccessException translateExceptionIfPossible(RuntimeException ex) {
		return this.connections.translateExceptionIfPossible(ex);
	}

}
