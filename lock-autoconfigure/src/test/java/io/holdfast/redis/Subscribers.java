package io.holdfast.redis;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

import io.lettuce.core.KillArgs;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;

import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

/**
 * Redis's own view of the subscribers.
 */
final class Subscribers {

	private Subscribers() {
	}

	static long count(StringRedisTemplate template, String channel) {
		byte[] name = channel.getBytes(StandardCharsets.UTF_8);
		return run(template, (redis) -> redis.pubsubNumsub(name)).values().iterator().next();
	}

	static void kill(StringRedisTemplate template) {
		run(template, (redis) -> redis.clientKill(KillArgs.Builder.typePubsub()));
	}

	@SuppressWarnings("unchecked")
	private static <T> T run(StringRedisTemplate template,
			Function<RedisClusterAsyncCommands<byte[], byte[]>, Future<T>> command) {
		return template.execute((RedisCallback<T>) (connection) -> {
			try {
				return command.apply((RedisClusterAsyncCommands<byte[], byte[]>) connection.getNativeConnection())
					.get(5, TimeUnit.SECONDS);
			}
			catch (InterruptedException | ExecutionException | TimeoutException ex) {
				throw new IllegalStateException(ex);
			}
		});
	}

}
