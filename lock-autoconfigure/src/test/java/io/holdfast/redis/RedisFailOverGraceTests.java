package io.holdfast.redis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;

import io.holdfast.engine.store.Commands;
import io.holdfast.engine.store.FailOverGraceContract;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.SharedStores;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.redis.key.PermitKeys;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

import static io.holdfast.engine.Locks.lock;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * The grace of the scripts. Here one Redis server plays both servers of a fail-over: it
 * gets back its earlier data, and the memory of another server.
 */
@WithRedis
@Execution(ExecutionMode.CONCURRENT)
class RedisFailOverGraceTests extends FailOverGraceContract implements SharedStores {

	private final TestRedis redis;

	private final StringRedisTemplate template;

	private final String prefix;

	private final String serverKey;

	RedisFailOverGraceTests(TestRedis redis) {
		this.redis = redis;
		this.template = redis.template();
		this.prefix = redis.keyPrefix();
		this.serverKey = this.prefix + "fleet:server";
		this.template.opsForValue().set(this.serverKey, replicationId() + " 1");
	}

	private String replicationId() {
		return Objects.requireNonNull(this.template.execute((RedisCallback<String>) (connection) -> Objects
			.requireNonNull(connection.serverCommands().info("replication"))
			.getProperty("master_replid")));
	}

	@Override
	protected void failOver(Runnable lost) {
		Map<String, byte[]> replica = new HashMap<>();
		Map<String, Long> ttls = new HashMap<>();
		this.template.execute((RedisCallback<@Nullable Void>) (connection) -> {
			for (String key : keys()) {
				replica.put(key, connection.keyCommands().dump(bytes(key)));
				ttls.put(key, connection.keyCommands().pTtl(bytes(key)));
			}
			return null;
		});
		lost.run();
		this.template.delete(keys());
		this.template.execute((RedisCallback<@Nullable Void>) (connection) -> {
			replica.forEach((key, value) -> restore(connection, key, value, ttls.get(key)));
			return null;
		});
		this.template.opsForValue().set(this.serverKey, "0123 456");
	}

	private static void restore(RedisConnection connection, String key, byte[] value, long ttl) {
		connection.keyCommands().restore(bytes(key), Math.max(0, ttl), value);
	}

	private static byte[] bytes(String text) {
		return text.getBytes(StandardCharsets.UTF_8);
	}

	private Set<String> keys() {
		return this.template.keys("*" + this.prefix + "*");
	}

	private LeaseStore newStore(boolean polling, long longestLease) {
		return new RedisLeaseStore(this.redis.connectionFactory(), options(polling, longestLease));
	}

	private RedisStoreOptions options(boolean polling, long longestLease) {
		return new RedisStoreOptions(this.prefix + "lock:", this.prefix + "semaphore:", this.prefix + "wake:", null,
				Duration.ofSeconds(20), Duration.ofMillis(GRACE), polling, this.prefix + "fleet",
				Duration.ofMillis(longestLease), null);
	}

	@Override
	protected SharedStores stores() {
		return this;
	}

	@Override
	public LeaseStore open(boolean polling) {
		return newStore(polling, GRACE);
	}

	@Override
	public void elapse(Duration time) {
		await().pollDelay(time).until(() -> true);
	}

	@Override
	public void putForeign(String key, String value, @Nullable Duration ttl) {
		this.template.opsForValue().set(this.prefix + "lock:" + key, value);
	}

	@Test
	@DisplayName("A server without a record counts as new, and is recorded")
	void remembersTheServer() {
		this.template.delete(this.serverKey);
		busy(this.a.acquire(lock(KEY), Commands.forLock(this.a.token("1"), GRACE, GRACE)));
		String remembered = Objects.requireNonNull(this.template.opsForValue().get(this.serverKey));
		assertThat(remembered).matches(replicationId() + " \\d{16}");
		busy(this.b.acquire(lock(KEY), Commands.forLock(this.b.token("1"), GRACE, GRACE)));
		assertThat(this.template.opsForValue().get(this.serverKey)).as("start of the grace").isEqualTo(remembered);
	}

	@Test
	@DisplayName("A lease that could outlast the grace is refused before anything is written")
	void refusesLongLeases() {
		AcquireCommand tooLong = Commands.forLock(this.a.token("1"), GRACE + 1, GRACE);
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> this.a.acquire(lock(KEY), tooLong))
			.withMessageContaining("2001 ms")
			.withMessageContaining("holdfast.redis.longest-lease (2000 ms)");
		assertThat(keys()).containsExactly(this.serverKey);
	}

	@Test
	@DisplayName("A release does not bring in a next with a lease that could outlast the grace")
	void bringsInNoNextForLong() {
		for (Kind kind : Kind.values()) {
			Resource resource = new Resource(kind, KEY);
			AcquireCommand held = new AcquireCommand(this.a.token("1"), Resource.ALL, Resource.ALL, true, GRACE, GRACE);
			granted(this.a.acquire(resource, held));
			AcquireCommand tooLong = new AcquireCommand(this.a.token("2"), Resource.ALL, Resource.ALL, true, GRACE + 1,
					GRACE);
			assertThat(this.a.release(resource, held, tooLong)).isEqualTo(new ReleaseReply(true, null, true));
			granted(this.b.acquire(resource,
					new AcquireCommand(this.b.token("3"), Resource.ALL, Resource.ALL, true, GRACE, GRACE)));
			this.b.release(resource,
					new AcquireCommand(this.b.token("3"), Resource.ALL, Resource.ALL, true, GRACE, GRACE));
		}
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	@DisplayName("The grace and its length are logged once")
	void tells(CapturedOutput output) {
		// Longer than in the other tests, which may log the grace at the same time.
		LeaseStore store = newStore(false, 9_500);
		failOver(() -> {
		});
		busy(get(store.acquire(lock(KEY), Commands.forLock(this.a.token("1"), GRACE, GRACE), true)));
		busy(get(store.acquire(lock("another"), Commands.forLock(this.a.token("2"), GRACE, GRACE), true)));
		assertThat(output.toString().split("for [6-9]\\d{3} ms nothing new is granted", -1)).hasSize(2);
		assertThat(output).contains("holdfast.redis.fail-over-grace");
		store.close();
	}

	@Test
	@DisplayName("A lease is not restored where another program keeps a sorted set")
	void leavesOthersSortedSetAlone() {
		failOver(() -> {
		});
		String key = this.prefix + "lock:" + KEY;
		this.template.opsForZSet().add(key, "Ann", 12);
		Renewal renewal = new Renewal(new Resource(Kind.LOCK, KEY), this.a.token("1"), 1, GRACE);
		assertThat(this.a.renew(List.of(renewal))).containsExactly(false);
		assertThat(this.template.opsForZSet().range(key, 0, -1)).containsExactly("Ann");
	}

	@Test
	@DisplayName("A renewal restores as many permits as its holder names, whatever the state says")
	void holdsWhatTheHolderSays() {
		failOver(() -> {
		});
		String token = this.a.token("1");
		Resource semaphore = new Resource(Kind.SEMAPHORE, KEY);
		String state = PermitKeys.of(this.prefix + "semaphore:" + KEY, false).state();
		this.template.opsForHash().put(state, token, "3");
		assertThat(this.a.renew(List.of(new Renewal(semaphore, token, 1, GRACE)))).containsExactly(true);
		assertThat(this.a.release(semaphore, AcquireCommand.unknown(token, GRACE))).isTrue();
	}

	@Test
	@DisplayName("Restored keys expire by themselves: a reader's with its lease, permits not before the last wait")
	void endsByItself() {
		failOver(() -> {
		});
		assertThat(this.a.renew(List.of(new Renewal(lock(KEY), this.a.token("1"), 1, GRACE)))).containsExactly(true);
		assertThat(this.template.getExpire(this.prefix + "lock:" + KEY, TimeUnit.MILLISECONDS)).isBetween(1L, GRACE);
		Resource semaphore = new Resource(Kind.SEMAPHORE, KEY);
		PermitKeys keys = PermitKeys.of(this.prefix + "semaphore:" + KEY, false);
		busy(this.b.acquire(semaphore, new AcquireCommand(this.b.token("1"), 1, 1, true, GRACE, GRACE)));
		assertThat(this.a.renew(List.of(new Renewal(semaphore, this.a.token("2"), 1, GRACE / 2))))
			.containsExactly(true);
		assertThat(List.of(keys.holders(), keys.queue(), keys.state()))
			.allSatisfy((key) -> assertThat(this.template.getExpire(key, TimeUnit.MILLISECONDS))
				.isBetween(GRACE / 2 + 1, 2 * GRACE));
	}

	@Test
	@DisplayName("A next with a lease that could outlast the grace is refused, and the release succeeds")
	void releasesBeforeWhoAsksForTooMuch() {
		granted(this.a.acquire(lock(KEY), Commands.forLock(this.a.token("1"), GRACE, GRACE)));
		ReleaseReply reply = get(this.a.store.release(lock(KEY), Commands.forLock(this.a.token("1"), GRACE, GRACE),
				Commands.forLock(this.a.token("2"), GRACE + 1, GRACE)));
		assertThat(reply).isEqualTo(new ReleaseReply(true, null, true));
		assertThat(this.a.inspect().owner()).isNull();
	}

	@Test
	@DisplayName("A clock that is set back restarts the grace instead of extending it")
	void endsThoughTheClockWasSetBack() {
		this.template.opsForValue().set(this.serverKey, replicationId() + " 9000000000000000");
		assertThat(busy(this.a.acquire(lock(KEY), Commands.forLock(this.a.token("1"), GRACE, GRACE))).ownerTtlMillis())
			.isLessThanOrEqualTo(GRACE);
		elapse(Duration.ofMillis(GRACE + 1));
		granted(this.a.acquire(lock(KEY), Commands.forLock(this.a.token("1"), GRACE, GRACE)));
	}

}
