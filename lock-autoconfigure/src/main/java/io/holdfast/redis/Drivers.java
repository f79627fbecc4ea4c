package io.holdfast.redis;

import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

import io.lettuce.core.AbstractRedisAsyncCommands;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.api.async.BaseRedisAsyncCommands;
import io.lettuce.core.masterreplica.StatefulRedisMasterReplicaConnection;
import io.lettuce.core.pubsub.api.async.RedisPubSubAsyncCommands;
import org.jspecify.annotations.Nullable;

import org.springframework.dao.InvalidDataAccessApiUsageException;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.util.ClassUtils;

/**
 * What has to be asked of a driver by its own types. Neither driver needs to be there.
 */
final class Drivers {

	private static final boolean LETTUCE = ClassUtils.isPresent("io.lettuce.core.RedisClient",
			Drivers.class.getClassLoader());

	private static final boolean JEDIS = ClassUtils.isPresent("redis.clients.jedis.Jedis",
			Drivers.class.getClassLoader());

	private Drivers() {
	}

	/**
	 * Whether one asynchronous connection serves all.
	 * @param factory the application's connections
	 * @return whether it is Lettuce with its shared connection
	 */
	static boolean isSharedLettuce(RedisConnectionFactory factory) {
		return LETTUCE && Lettuce.isShared(factory);
	}

	/**
	 * Whether Redis is a cluster. Asks the configuration; nothing is connected for it.
	 * @param factory the application's connections
	 * @return whether it is a cluster
	 */
	static boolean isCluster(RedisConnectionFactory factory) {
		return (LETTUCE && Lettuce.isCluster(factory)) || (JEDIS && Jedis.isCluster(factory));
	}

	/**
	 * Why a master is to have replicas, as far as the configuration tells.
	 * @param factory the application's connections
	 * @param connection one of them
	 * @return what says so, or {@code null}
	 */
	static @Nullable String reasonForReplicas(RedisConnectionFactory factory, RedisConnection connection) {
		if ((LETTUCE && Lettuce.isSentinel(factory)) || (JEDIS && Jedis.isSentinel(factory))) {
			return "Sentinel is configured";
		}
		return (LETTUCE && Lettuce.isMasterReplica(connection)) ? "replicas are configured" : null;
	}

	/**
	 * Connections to watch keys on, each for one thread, to be closed after use.
	 * @param factory the application's connections
	 * @return opens them
	 */
	static Supplier<RedisConnection> watching(RedisConnectionFactory factory) {
		return LETTUCE ? Lettuce.watching(factory) : factory::getConnection;
	}

	/**
	 * Why replicas cannot be waited for, as far as the configuration tells.
	 * @param factory the application's connections
	 * @return the reason, or {@code null} if they can
	 */
	static @Nullable String obstacleToConfirming(RedisConnectionFactory factory) {
		if (isCluster(factory)) {
			return "in a cluster, replicas cannot be waited for";
		}
		return (LETTUCE && factory instanceof LettuceConnectionFactory) ? null
				: "replicas can be waited for with Lettuce only, and the connections are of "
						+ factory.getClass().getName();
	}

	/**
	 * Connections to wait for replicas on.
	 * @param factory the application's connections, to which there is no obstacle
	 * @return opens them
	 */
	static Supplier<Confirmations.Connection> confirming(RedisConnectionFactory factory) {
		return Lettuce.confirming(factory);
	}

	/**
	 * Send a WAIT that is over at once.
	 * @param connection one to whose factory there is no {@link #obstacleToConfirming
	 * obstacle}
	 * @return the answer, or what stands in its way
	 */
	static CompletableFuture<Long> waitForNobody(RedisConnection connection) {
		return Lettuce.waitForNobody(connection);
	}

	/**
	 * See to it that a connection is not used again, whatever it watches or has queued.
	 * @param connection the connection, still to be closed
	 * @return whether that was possible
	 */
	static boolean abandon(RedisConnection connection) {
		return LETTUCE && Lettuce.abandon(connection);
	}

	/**
	 * Whether Redis answered, but with an error. Spring has a type for that with Jedis,
	 * but not with Lettuce.
	 * @param error what Spring made of the driver's error
	 * @return whether it is an answer of Redis
	 */
	static boolean isAnswer(Throwable error) {
		return error instanceof InvalidDataAccessApiUsageException || (LETTUCE && Lettuce.isAnswer(error));
	}

	/**
	 * Have an action run when a subscription's connection breaks, if the driver can tell
	 * without being asked.
	 * @param subscribed a connection that is subscribed
	 * @param action what to run, perhaps several times
	 */
	static void onDisconnect(RedisConnection subscribed, Runnable action) {
		if (LETTUCE) {
			Lettuce.onDisconnect(subscribed, action);
		}
	}

	/**
	 * Whether a subscription's connection was closed by its factory, so that there is
	 * nothing left to end. One that is merely down is not closed.
	 * @param subscribed a connection that is subscribed
	 * @return whether the driver knows it to be closed
	 */
	static boolean isClosed(RedisConnection subscribed) {
		return LETTUCE && Lettuce.isClosed(subscribed);
	}

	private static final class Lettuce {

		static boolean isShared(RedisConnectionFactory factory) {
			return factory instanceof LettuceConnectionFactory lettuce && lettuce.getShareNativeConnection();
		}

		static boolean isCluster(RedisConnectionFactory factory) {
			return factory instanceof LettuceConnectionFactory lettuce && lettuce.isClusterAware();
		}

		static boolean isSentinel(RedisConnectionFactory factory) {
			return factory instanceof LettuceConnectionFactory lettuce && lettuce.isRedisSentinelAware();
		}

		static boolean isMasterReplica(RedisConnection connection) {
			return connection.getNativeConnection() instanceof AbstractRedisAsyncCommands<?, ?> commands
					&& commands.getConnection() instanceof StatefulRedisMasterReplicaConnection<?, ?>;
		}

		static Supplier<RedisConnection> watching(RedisConnectionFactory factory) {
			return (factory instanceof LettuceConnectionFactory lettuce) ? new LettuceWatchConnections(lettuce)::get
					: factory::getConnection;
		}

		static Supplier<Confirmations.Connection> confirming(RedisConnectionFactory factory) {
			return () -> new LettuceConfirmingConnection((LettuceConnectionFactory) factory);
		}

		static CompletableFuture<Long> waitForNobody(RedisConnection connection) {
			return ((BaseRedisAsyncCommands<?, ?>) connection.getNativeConnection()).waitForReplication(0, 1)
				.toCompletableFuture();
		}

		static boolean abandon(RedisConnection connection) {
			if (connection instanceof LettuceWatchConnections.Watching watching) {
				watching.abandon();
				return true;
			}
			return false;
		}

		static boolean isAnswer(Throwable error) {
			return error instanceof RedisCommandExecutionException
					|| error.getCause() instanceof RedisCommandExecutionException;
		}

		static boolean isClosed(RedisConnection subscribed) {
			return subscribed.getNativeConnection() instanceof RedisPubSubAsyncCommands<?, ?> commands
					&& commands.getStatefulConnection() instanceof RedisChannelHandler<?, ?> handler
					&& handler.isClosed();
		}

		static void onDisconnect(RedisConnection subscribed, Runnable action) {
			if (subscribed.getNativeConnection() instanceof RedisPubSubAsyncCommands<?, ?> commands) {
				commands.getStatefulConnection().addListener(new RedisConnectionStateListener() {

					@Override
					public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
						action.run();
					}

				});
			}
		}

	}

	private static final class Jedis {

		static boolean isCluster(RedisConnectionFactory factory) {
			return factory instanceof JedisConnectionFactory jedis && jedis.isRedisClusterAware();
		}

		static boolean isSentinel(RedisConnectionFactory factory) {
			return factory instanceof JedisConnectionFactory jedis && jedis.isRedisSentinelAware();
		}

	}

}
