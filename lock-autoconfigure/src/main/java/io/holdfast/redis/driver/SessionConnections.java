package io.holdfast.redis.driver;

import org.jspecify.annotations.Nullable;

import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.connection.RedisClusterConnection;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisSentinelConnection;

/**
 * The application's connections for one session, as another factory. Spring binds
 * connections to a thread by their factory: a session joins no other session and no
 * transaction, nor will the application's templates meet its connection.
 */
public class SessionConnections implements RedisConnectionFactory {

	private final RedisConnectionFactory factory;

	boolean ended;

	SessionConnections(RedisConnectionFactory factory) {
		this.factory = factory;
	}

	/** Note that nothing is watched or queued any more, and no answer is due. */
	public void ended() {
		this.ended = true;
	}

	@Override
	public RedisConnection getConnection() {
		return this.factory.getConnection();
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
