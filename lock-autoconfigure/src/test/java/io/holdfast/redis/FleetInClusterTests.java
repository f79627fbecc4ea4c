package io.holdfast.redis;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

import io.holdfast.engine.store.Commands;
import io.holdfast.engine.store.FleetStore.Page;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.connection.RedisConnectionFactory;

import static io.holdfast.engine.Locks.lock;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Scans for locks on all nodes of a cluster, with each driver.
 */
@WithRedis
class FleetInClusterTests {

	private static final String TOKEN = "0123456789abcdef0123456789abcdef:1";

	private static final int NODES = 3;

	@Test
	@DisplayName("Locks on all nodes are found once")
	void findsAll(TestRedis redis) {
		RedisConnectionFactory factory = redis.connectionFactory(redis.startCluster(NODES).configuration());
		findsAll(factory, "lock:");
		// All on the same node.
		findsAll(factory, "{app}:lock:");
	}

	private void findsAll(RedisConnectionFactory factory, String prefix) {
		LeaseStore store = new RedisLeaseStore(factory, new RedisStoreOptions(prefix, "semaphore:", "wake:", null,
				Duration.ofSeconds(20), Duration.ofSeconds(5), true, "fleet", null, null));
		TreeSet<String> keys = new TreeSet<>();
		for (int i = 0; i < 60; i++) {
			keys.add("key" + i);
			store.acquire(lock("key" + i), Commands.forLock(TOKEN, 30_000, 5_000), true)
				.orTimeout(10, TimeUnit.SECONDS)
				.join();
		}
		for (int wanted : new int[] { 5, 1000 }) {
			List<String> found = new ArrayList<>();
			TreeSet<String> slots = new TreeSet<>();
			String cursor = null;
			do {
				Page page = store.fleet().scan(Kind.LOCK, cursor, wanted).orTimeout(10, TimeUnit.SECONDS).join();
				page.finds().forEach((find) -> found.add(find.key()));
				cursor = page.cursor();
				slots.add((cursor != null) ? cursor.replaceAll("-.*", "") : "");
			}
			while (cursor != null);
			assertThat(found).as(prefix + " by " + wanted).containsExactlyInAnyOrderElementsOf(keys);
			assertThat(slots).as("nodes").hasSizeGreaterThanOrEqualTo(prefix.contains("{") ? 1 : NODES);
		}
		store.close();
	}

}
