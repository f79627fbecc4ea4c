package io.holdfast.redis;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.async.DaemonThreads;
import io.holdfast.engine.store.Commands;
import io.holdfast.engine.store.FleetStore.Page;
import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.InstanceStore;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.Tokens;
import io.holdfast.redis.driver.ScriptExecutor;
import io.holdfast.redis.key.LockKeys;
import io.holdfast.redis.key.PermitKeys;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.key.TestOptions;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.HashOperations;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;

import static io.holdfast.engine.Locks.lock;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Fleet store in Redis, and its scans.
 */
@WithRedis
@Execution(ExecutionMode.CONCURRENT)
class RedisFleetStoreTests extends RedisFleetContract {

	private static final RedisScript<Long> POPULATE = RedisScript
		.of("for i = 1, 50000 do redis.call('SET', 'key' .. i, '') end return 1", Long.class);

	private static final String TOKEN = "0123456789abcdef0123456789abcdef:1";

	private final TestRedis redis;

	private final StringRedisTemplate template;

	private final String prefix;

	RedisFleetStoreTests(TestRedis redis) {
		super(new TestStores(redis.keyPrefix() + PREFIX, redis.template(), redis::connectionFactory));
		this.redis = redis;
		this.template = redis.template();
		this.prefix = redis.keyPrefix() + PREFIX;
	}

	private PermitKeys semaphoreKeys() {
		return PermitKeys.of(this.prefix + "semaphore:" + KEY, false);
	}

	/**
	 * Open a polling store with its own prefix of locks, closed at the end of the test.
	 */
	private LeaseStore store(RedisServer server, String lockPrefix) {
		LeaseStore store = new RedisLeaseStore(this.redis.connectionFactory(server.host(), server.port()),
				new RedisStoreOptions(lockPrefix, "semaphore:", "wake:", null, Duration.ofSeconds(20),
						Duration.ofSeconds(5), true, "fleet", null, null));
		this.redis.closeAtEnd(store::close);
		return store;
	}

	@Test
	@DisplayName("A lock with the name of a companion is listed as a lock, and a companion is not")
	void tellsLocksFromCompanions() {
		for (String key : List.of("my:queue", "my:fence", "x:state", "{a}b", "{a}b:mystate", "a{b", "a}")) {
			granted(this.a.acquire(lock(key), Commands.forLock(this.a.token("1"), LEASE, CLAIM)));
			busy(this.b.acquire(lock(key), Commands.forLock(this.b.token("1"), LEASE, CLAIM)));
		}
		this.template.opsForHash().put(this.prefix + "lock:hash", "field", "value");
		this.template.opsForZSet().add(this.prefix + "lock:zset", "value", 1);
		this.template.opsForValue().set(this.prefix + "another", "value");
		assertThat(walk(Kind.LOCK, 100)).containsExactlyInAnyOrder("my:queue", "my:fence", "x:state", "{a}b",
				"{a}b:mystate", "a{b", "a}");
		assertThat(walk(Kind.SEMAPHORE, 100)).isEmpty();
	}

	@Test
	@DisplayName("A scan skips fences and states, which tell neither holders nor waiters")
	void leavesOutWhatSaysNothing() {
		Resource readWrite = new Resource(Kind.LOCK, "another");
		granted(this.a.acquire(readWrite, command(this.a, "1", 1, Resource.ALL)));
		granted(this.a.acquire(SEMAPHORE, command(this.a, "2", 1)));
		granted(this.a.acquire("3"));
		this.a.release("3");
		assertThat(get(this.a.store.fleet().scan(Kind.LOCK, null, 100)).finds()).extracting("key")
			.containsExactly("another");
		assertThat(get(this.a.store.fleet().scan(Kind.SEMAPHORE, null, 100)).finds()).hasSize(1);
	}

	@ParameterizedTest
	@ValueSource(strings = { ":fence", ":state", ":seen" })
	@DisplayName("Skipped keys take no place on a page, whatever their number")
	void goesOnOverWhatSaysNothing(String suffix) {
		RedisServer server = this.redis.startServer();
		StringRedisTemplate template = new StringRedisTemplate(
				this.redis.connectionFactory(server.host(), server.port()));
		for (int i = 0; i < 200; i++) {
			template.opsForValue().set("{lock:key " + i + "}" + suffix, "1");
		}
		LeaseStore store = store(server, "lock:");
		assertThat(get(store.fleet().scan(Kind.LOCK, null, 1))).isEqualTo(new Page(List.of(), null));
	}

	@Test
	@DisplayName("With an empty prefix, neither semaphores nor companions are taken for locks")
	void tellsLocksWithoutPrefix() {
		LeaseStore store = store(this.redis.startServer(), "");
		get(store.acquire(lock("a"), Commands.forLock(this.a.token("1"), LEASE, CLAIM), true));
		get(store.acquire(lock("a"), Commands.forLock(this.b.token("1"), LEASE, CLAIM), true));
		get(store.acquire(SEMAPHORE, command(this.a, "1", 1, 1), true));
		assertThat(get(store.fleet().scan(Kind.LOCK, null, 100)).finds()).extracting("key").containsOnly("a");
		assertThat(get(store.fleet().scan(Kind.SEMAPHORE, null, 100)).finds()).extracting("key").containsExactly(KEY);
	}

	@ParameterizedTest
	@ValueSource(strings = { "stranger", "stranger:1", TOKEN, TOKEN + ":", TOKEN + ":many", TOKEN + ":9999999999",
			TOKEN + ":99999999999999999999", TOKEN + "99999999999999999999:1", TOKEN + ":-1", ":1" })
	@DisplayName("A foreign or damaged entry among the holders of permits counts as a holder without an instance")
	void tellsOfForeignHolders(String entry) {
		PermitKeys semaphore = semaphoreKeys();
		granted(this.a.acquire(SEMAPHORE, command(this.a, "1", 2)));
		this.template.opsForZSet().add(semaphore.holders(), entry, 9e15);
		Standing standing = look(Kind.SEMAPHORE, KEY);
		assertThat(standing.holderCount()).isEqualTo(2);
		assertThat(standing.holders()).extracting(TokenState::instance).containsExactly(Tokens.shown(this.a.id), null);
		assertThat(walk(Kind.SEMAPHORE, 100)).containsExactly(KEY);
		assertThat(get(this.a.store.inspect(SEMAPHORE, 10, 0)).holders())
			.filteredOn((holder) -> holder.token().equals(this.a.token("1")))
			.hasSize(1);
	}

	@ParameterizedTest
	@ValueSource(strings = { "many", "", "-5", "1e30", "inf", "nan", "99999999999999999999" })
	@DisplayName("Foreign or damaged numbers of a semaphore hide neither its holders nor its permits")
	void tellsOfWhatHasForeignNumbers(String number) {
		PermitKeys semaphore = semaphoreKeys();
		granted(this.a.acquire(SEMAPHORE, command(this.a, "1", 2)));
		this.template.opsForHash().put(semaphore.state(), "used", number);
		this.template.opsForHash().put(semaphore.state(), "asked", number);
		this.template.opsForValue().set(semaphore.limit(), number);
		Standing standing = look(Kind.SEMAPHORE, KEY);
		assertThat(standing.limit()).isNull();
		assertThat(standing.asked()).isZero();
		assertThat(standing.used()).isEqualTo(2);
		assertThat(get(this.a.store.inspect(SEMAPHORE, 10, 0)).used()).isEqualTo(2);
		granted(this.a.acquire(lock(KEY), Commands.forLock(this.a.token("2"), LEASE, CLAIM)));
		this.template.opsForValue().set(LockKeys.of(this.prefix + "lock:" + KEY, false).fence(), number);
		assertThat(look(Kind.LOCK, KEY).fence()).isZero();
	}

	@Test
	@DisplayName("A holder is listed although another program replaced a companion of the key")
	void tellsOfWhatHasOtherThingsBesideIt() {
		String lockKey = this.prefix + "lock:" + KEY;
		PermitKeys semaphore = semaphoreKeys();
		LockKeys lock = LockKeys.of(lockKey, false);
		for (String beside : List.of(lock.queue(), lock.fence())) {
			granted(this.a.acquire(lock(KEY), Commands.forLock(this.a.token("1"), LEASE, CLAIM)));
			replaceByList(beside);
			Standing standing = look(Kind.LOCK, KEY);
			assertThat(standing.holders()).as(beside)
				.extracting(TokenState::instance)
				.containsExactly(Tokens.shown(this.a.id));
			this.template.delete(List.of(beside, lockKey));
		}
		for (String beside : List.of(semaphore.queue(), semaphore.state(), semaphore.limit())) {
			granted(this.a.acquire(SEMAPHORE, command(this.a, "1", 2)));
			replaceByList(beside);
			Standing standing = look(Kind.SEMAPHORE, KEY);
			assertThat(standing.used()).as(beside).isEqualTo(2);
			assertThat(standing.holders()).extracting(TokenState::instance).containsExactly(Tokens.shown(this.a.id));
			this.template.delete(List.of(semaphore.holders(), semaphore.queue(), semaphore.state(), semaphore.limit()));
		}
	}

	private void replaceByList(String key) {
		this.template.delete(key);
		this.template.opsForList().rightPush(key, "a list");
	}

	@Test
	@DisplayName("Without a cluster, a cursor of another node is refused")
	void refusesOtherNodes() {
		assertThatIllegalArgumentException().isThrownBy(() -> this.a.store.fleet().scan(Kind.LOCK, "1-0", 10))
			.withMessageStartingWith("The cursor does not come from a page of this list");
	}

	@Test
	@DisplayName("A scan occupies Redis for some two thousand keys at a time")
	void looksAtSoManyKeysAtATime() {
		RedisServer server = this.redis.startServer();
		RedisConnectionFactory connections = this.redis.connectionFactory(server.host(), server.port());
		StringRedisTemplate template = new StringRedisTemplate(connections);
		template.execute(POPULATE, List.of());
		LeaseStore store = new RedisLeaseStore(template.getRequiredConnectionFactory(), TestOptions.defaults());
		get(store.acquire(lock(KEY), Commands.forLock(this.a.token("1"), LEASE, CLAIM), true));
		int calls = 0;
		int finds = 0;
		String cursor = null;
		do {
			Page page = get(store.fleet().scan(Kind.LOCK, cursor, 100));
			finds += page.finds().size();
			cursor = page.cursor();
			calls++;
		}
		while (cursor != null);
		assertThat(finds).isEqualTo(1);
		assertThat(calls).isBetween(20, 26);
		store.close();
	}

	@Test
	@DisplayName("Instances with other prefixes are neither listed nor queried; unknown entries are ignored and"
			+ " removed")
	void tellsOfThoseWithTheSamePrefixes() {
		InstanceInfo info = new InstanceInfo("shop", "host", 1);
		String key = this.prefix + "fleet";
		LeaseStore other = new RedisLeaseStore(this.redis.connectionFactory(), new RedisStoreOptions("another",
				"semaphore:", "wake:", null, Duration.ofSeconds(20), Duration.ofSeconds(5), true, key, null, null));
		get(other.instances().join(this.a.id, info, Duration.ZERO, Duration.ofMinutes(1)));
		get(this.b.store.instances().join(this.b.id, info, Duration.ZERO, Duration.ofMinutes(1)));
		this.template.opsForHash().put(key, this.c.id, "9999999999999 whatever");
		assertThat(this.template.opsForHash().size(key)).isEqualTo(3);
		assertThat(get(this.c.store.instances().members(Duration.ofMinutes(1), 10))).extracting("instance")
			.containsExactly(Tokens.shown(this.b.id));
		assertThat(get(this.c.store.instances().ask(this.c.id, this.c.id)).absent()).isEmpty();
		get(this.b.store.instances().join(this.b.id, info, Duration.ZERO, Duration.ofMinutes(1)));
		assertThat(this.template.opsForHash().keys(key)).containsExactlyInAnyOrder(this.a.id, this.b.id);
		other.close();
	}

	private static final InstanceInfo INFO = new InstanceInfo("shop", "host", 1);

	private RedisInstanceStore speaking(String lockPrefix, int protocol, int oldest) {
		return new RedisInstanceStore(
				new RedisStoreOptions(lockPrefix, "semaphore:", "wake:", null, Duration.ofSeconds(20),
						Duration.ofSeconds(5), true, this.redis.keyPrefix() + "protocol", null, null),
				new ScriptExecutor(this.redis.connectionFactory(), () -> {
				}, new DaemonThreads()), false, protocol, oldest);
	}

	private static @Nullable String join(InstanceStore store, String id) {
		return get(store.join(id, INFO, Duration.ZERO, Duration.ofMinutes(1)));
	}

	@Test
	@DisplayName("An instance is kept out by a present instance that is incompatible, whichever is newer")
	void keepsIncompatibleInstancesOut() {
		InstanceStore old = speaking("lock:", 1, 0);
		InstanceStore next = speaking("lock:", 3, 2);
		assertThat(join(old, this.a.id)).isNull();
		assertThat(join(next, this.b.id)).contains("instance " + Tokens.shown(this.a.id) + " (shop, process 1 on host)",
				"speaks version 1 of the protocol in Redis, and this one speaks 3, which needs 2 or newer. Stop that"
						+ " instance, or restart it with a newer version of Holdfast. To change the version of all,"
						+ " stop all instances, wait for the longest lease time, and start them with the new version;"
						+ " see UPGRADING.md. One that was killed is forgotten after 60 s");
		assertThat(join(old, this.a.id)).as("the present instance").isNull();
		assertThat(get(old.members(Duration.ofMinutes(1), 10))).hasSize(1);
		get(old.leave(this.a.id));
		assertThat(join(next, this.b.id)).isNull();
		assertThat(join(old, this.a.id))
			.contains("speaks version 3 of the protocol in Redis, which needs 2 or newer, and"
					+ " this one speaks 1. Start this application with a newer version of Holdfast");
		assertThat(join(speaking("lock:", 2, 0), this.c.id)).as("a version between both").isNull();
		assertThat(join(speaking("lock:", 4, 2), "d".repeat(32))).as("the newest version that fits").isNull();
		HashOperations<String, String, String> instances = this.template.opsForHash();
		String key = this.redis.keyPrefix() + "protocol";
		// An instance of the first version does not compare versions.
		instances.put(key, this.a.id,
				String.valueOf(instances.get(key, this.b.id)).replaceFirst("\u001f3\u001f2$", ""));
		assertThat(join(next, this.b.id)).as("the present instance").isNull();
		assertThat(join(next, "f".repeat(32))).contains("speaks version 0 of the protocol");
		assertThat(join(speaking("other:", 1, 0), "e".repeat(32))).as("an instance with other keys").isNull();
	}

	@RepeatedTest(10)
	@DisplayName("Of two incompatible instances that start at once, one is kept out")
	void keepsOneOut() {
		InstanceStore old = speaking("lock:", 1, 0);
		InstanceStore next = speaking("lock:", 3, 2);
		CompletableFuture<@Nullable String> first = old.join(this.a.id, INFO, Duration.ZERO, Duration.ofMinutes(1));
		CompletableFuture<@Nullable String> second = next.join(this.b.id, INFO, Duration.ZERO, Duration.ofMinutes(1));
		assertThat((get(first) != null) ^ (get(second) != null)).as("exactly one kept out: %s, %s", first, second)
			.isTrue();
	}

	@Test
	@DisplayName("Keys of instances and reports expire")
	void letsAllExpire() {
		InstanceInfo info = new InstanceInfo("shop", "host", 1);
		String key = this.prefix + "fleet";
		get(this.a.store.instances().join(this.a.id, info, Duration.ZERO, Duration.ofMinutes(15)));
		get(this.a.store.instances().answer(this.a.id, "text"));
		assertThat(this.template.getExpire(key)).isBetween(800L, 900L);
		assertThat(this.template.getExpire(key + ":report:" + this.a.id)).isBetween(5L, 10L);
		get(this.a.store.instances().leave(this.a.id));
		assertThat(this.template.hasKey(key)).isFalse();
	}

}
