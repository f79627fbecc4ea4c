package io.holdfast.fleet;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.UUID;

import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;

/**
 * A client without Holdfast that locks as the documentation of Redis says.
 *
 * @param template its access to Redis
 * @param keyPrefix the prefix of its keys
 */
record PlainClient(StringRedisTemplate template, String keyPrefix) {

	private static final RedisScript<Long> COMPARE_AND_DELETE = RedisScript.of("""
			if redis.call('GET', KEYS[1]) ~= ARGV[1] then
				return 0
			end
			return redis.call('DEL', KEYS[1])
			""", Long.class);

	/**
	 * {@code SET key token NX PX ttl}.
	 * @return the token, or {@code null} if the key was there
	 */
	@Nullable String tryLock(String key, Duration ttl) {
		String token = UUID.randomUUID().toString();
		RedisCallback<Object> set = (connection) -> connection.execute("SET", bytes(this.keyPrefix + key), bytes(token),
				bytes("NX"), bytes("PX"), bytes(Long.toString(ttl.toMillis())));
		return (this.template.execute(set) != null) ? token : null;
	}

	/**
	 * Compare and delete.
	 * @return whether the token owned the key
	 */
	boolean unlock(String key, String token) {
		return this.template.execute(COMPARE_AND_DELETE, List.of(this.keyPrefix + key), token) == 1;
	}

	private static byte[] bytes(String text) {
		return text.getBytes(StandardCharsets.UTF_8);
	}

}
