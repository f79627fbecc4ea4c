package io.holdfast.optimistic;

import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.connection.RedisClusterConnection;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisSentinelConnection;

/**
 * The application's connections, as another factory. Connections are bound to a thread by
 * their factory: what a surrounding transaction has bound by the application's is not
 * used here, nor will the application's templates meet what is bound by this one.
 */
final class UnboundConnections implements RedisConnectionFactory {

	private final RedisConnectionFactory factory;

	private final Supplier<RedisConnection> connector;

	/** Create a factory like another one, whose connections come from another place. */
	UnboundConnections(RedisConnectionFactory factory, Supplier<RedisConnection> connector) {
		this.factory = factory;
		this.connector = connector;
	}

	@Override
	public RedisConnection getConnection() {
		return this.connector.get();
	}

	@Override
	public RedisClusterConnection getClusterConnection() {
		return this.factory.getClusterConnection();
	}

	@Override
	public RedisSentinelConnection getSentinelConnection() {
		return this.factory.getSentinelConnection();
	}

	@Override
	public boolean getConvertPipelineAndTxResults() {
		return this.factory.getConvertPipelineAndTxResults();
	}

	@Override
	public @Nullable DataAccessException translateExceptionIfPossible(RuntimeException ex) {
		return this.factory.translateExceptionIfPossible(ex);
	}

}
