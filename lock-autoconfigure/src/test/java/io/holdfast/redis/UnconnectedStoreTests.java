package io.holdfast.redis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import io.holdfast.engine.store.Commands;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.redis.driver.ScriptReply;
import io.holdfast.redis.driver.TestReplies;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.key.TestOptions;
import io.holdfast.testing.TestRedis;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * The parts of commands, and the values of replies.
 */
class UnconnectedStoreTests {

	private final List<RedisLeaseStore> stores = new ArrayList<>();

	@AfterEach
	void close() {
		this.stores.forEach(RedisLeaseStore::close);
	}

	@Test
	@DisplayName("A resource has the names of its kind and key, whichever names were requested before")
	void names() {
		RedisLeaseStore store = store(TestOptions.defaults());
		for (int round = 0; round < 2; round++) {
			// More than the cache holds, so that some entries are replaced.
			for (int i = 0; i < 3000; i++) {
				String key = "key " + i;
				assertThat(names(store, Kind.LOCK, key)).containsExactly("lock:" + key, "{lock:" + key + "}:queue",
						"{lock:" + key + "}:fence", "{lock:" + key + "}:seen");
				assertThat(names(store, Kind.SEMAPHORE, key)).startsWith("{semaphore:" + key + "}:holders");
			}
		}
	}

	@Test
	@DisplayName("With a grace after fail-overs, the last key is that of the server's record")
	void namesWithGrace() {
		RedisStoreOptions options = new RedisStoreOptions("lock:", "semaphore:", "wake:", null, Duration.ofHours(1),
				Duration.ofSeconds(5), false, "fleet", Duration.ofMinutes(1), null);
		assertThat(names(store(options), Kind.LOCK, "a")).endsWith("{lock:a}:seen", "fleet:server");
	}

	private static List<String> names(RedisLeaseStore store, Kind kind, String key) {
		RedisKeys keys = store.keysOf(new Resource(kind, key));
		assertThat(keys.name()).isEqualTo(((kind == Kind.SEMAPHORE) ? "semaphore:" : "lock:") + key);
		return Arrays.stream(keys.all()).map((name) -> new String(name, StandardCharsets.UTF_8)).toList();
	}

	@Test
	@DisplayName("Renewals of equal length share one argument; a reader's renewal has its entry in the set")
	void renewals() {
		assertThat(renewals(Kind.LOCK, 30, 30)).containsExactly("a:r", "b", 30L);
		assertThat(renewals(Kind.SEMAPHORE, 30, 30)).containsExactly("a:1", "b:2", 30L);
		assertThat(renewals(Kind.LOCK, 30, -30)).containsExactly("a:r", "b", 30L, -30L);
		assertThat(renewals(Kind.SEMAPHORE, 30, -30)).containsExactly("a:1", "b:2", 30L, -30L);
		assertThat(RedisLeaseStore.arguments(List.of(new Renewal(new Resource(Kind.SEMAPHORE, "k"), "a", 1, 30))))
			.containsExactly("a:1", 30L);
		assertThat(RedisLeaseStore.arguments(List.of())).isEmpty();
	}

	private static Object[] renewals(Kind kind, long one, long other) {
		Resource resource = new Resource(kind, "k");
		return RedisLeaseStore
			.arguments(List.of(new Renewal(resource, "a", 1, one), new Renewal(resource, "b", 2, other)));
	}

	@Test
	@DisplayName("The reply distinguishes renewed from lost leases")
	void whatWasNotRenewedIsAmongThoseThatWere() {
		assertThat(kept(List.of(3L), 3)).containsExactly(true, true, true);
		assertThat(kept(List.of(3L, 1L, 3L), 3)).containsExactly(false, true, false);
		assertThat(kept(List.of(0L), 0)).isEmpty();
	}

	@Test
	@DisplayName("A reply to other renewals is refused")
	void anAnswerForOtherRenewalsIsRefused() {
		assertThatIllegalStateException().isThrownBy(() -> kept(List.of(2L), 3)).withMessageContaining("3");
	}

	private static List<Boolean> kept(List<Long> reply, int count) {
		return RedisLeaseStore.renewed(TestReplies.of(reply), count);
	}

	@Test
	@DisplayName("A single number is the fence of a grant for the whole lease")
	void granted() {
		RedisLeaseStore store = store(TestOptions.defaults());
		Resource lock = new Resource(Kind.LOCK, "k");
		AcquireCommand command = Commands.forLock("a", 500, 100);
		ScriptReply alone = new ScriptReply();
		alone.set(7);
		assertThat(store.acquireReply(lock, command, alone)).isEqualTo(new Granted(7, 500));
		assertThat(store.acquireReply(lock, command, TestReplies.of(List.of(1L, 7L, 400L))))
			.isEqualTo(new Granted(7, 400));
	}

	private RedisLeaseStore store(RedisStoreOptions options) {
		RedisLeaseStore store = new RedisLeaseStore(
				new LettuceConnectionFactory(new RedisStandaloneConfiguration(), TestRedis.clientConfiguration()),
				options);
		this.stores.add(store);
		return store;
	}

}
