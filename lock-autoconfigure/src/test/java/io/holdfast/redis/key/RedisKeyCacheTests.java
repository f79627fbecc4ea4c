package io.holdfast.redis.key;

import java.time.Duration;
import java.util.List;

import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.redis.script.ScriptReplies;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What resources are called in Redis.
 */
class RedisKeyCacheTests {

	@Test
	@DisplayName("a resource has the names of its kind and key, whichever were asked for before")
	void names() {
		RedisKeyCache names = new RedisKeyCache(RedisStoreOptions.defaults(), false);
		for (int round = 0; round < 2; round++) {
			// More than are known at a time, so that some are put in the place of others.
			for (int i = 0; i < 3000; i++) {
				String key = "key " + i;
				assertThat(names(names, Kind.LOCK, key)).containsExactly("lock:" + key, "{lock:" + key + "}:queue",
						"{lock:" + key + "}:fence", "{lock:" + key + "}:seen");
				assertThat(names(names, Kind.SEMAPHORE, key)).startsWith("{semaphore:" + key + "}:holders");
			}
		}
	}

	@Test
	@DisplayName("with a grace after fail-overs, the last key is where the server is remembered")
	void namesWithGrace() {
		RedisStoreOptions options = new RedisStoreOptions("lock:", "semaphore:", "wake:", null, Duration.ofHours(1),
				Duration.ofSeconds(5), false, "fleet", Duration.ofMinutes(1), null);
		assertThat(names(new RedisKeyCache(options, false), Kind.LOCK, "a")).endsWith("{lock:a}:seen", "fleet:server");
	}

	private static List<String> names(RedisKeyCache names, Kind kind, String key) {
		RedisKeyCache.Name name = names.of(new Resource(kind, key));
		assertThat(name.key()).isEqualTo(((kind == Kind.SEMAPHORE) ? "semaphore:" : "lock:") + key);
		return List.of(name.keys()).stream().map(ScriptReplies::text).toList();
	}

}
