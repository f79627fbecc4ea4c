package io.holdfast.redis.driver;

import org.jspecify.annotations.Nullable;

import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.connection.RedisClusterConnection;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisSentinelConnection;

/**
 * Connection factory for one session, with the connections of the application. Spring
 * binds connections to a thread by their factory. With its own factory, a session joins
 * no other session and no transaction, and the application's templates do not get its
 * connection.
 */
public class SessionConnections implements RedisConnectionFactory {

	private final RedisConnectionFactory factory;

	boolean ended;

	SessionConnections(RedisConnectionFactory factory) {
		this.factory = factory;
	}

	/**
	 * Note the end of the session: no key is watched, no command is queued, and no answer
	 * is due.
	 */
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
