package io.holdfast.redis;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.pubsub.api.async.RedisPubSubAsyncCommands;

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

	}

}
