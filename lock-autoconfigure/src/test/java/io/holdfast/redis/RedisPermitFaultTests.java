package io.holdfast.redis;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.store.Commands;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.key.RedisStoreOptions.Replicas;
import io.holdfast.redis.key.TestOptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.data.redis.connection.RedisServerCommands;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;

import static io.holdfast.engine.Locks.lock;
import static io.holdfast.engine.store.StoreContract.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;
import static org.mockito.Mockito.mock;

/**
 * Permits while Redis is full, restricted, forgetful or crowded.
 */
@Execution(ExecutionMode.CONCURRENT)
class RedisPermitFaultTests extends OwnServerTestCase {

	private static final Resource SEMAPHORE = new Resource(Kind.SEMAPHORE, "key");

	private static final Resource LOCK = new Resource(Kind.LOCK, "key");

	private StringRedisTemplate template;

	@BeforeEach
	void connect() {
		this.template = template();
	}

	@Test
	@DisplayName("F32 Memory is full: acquire fails with that reason and changes nothing; renew, release and cancel"
			+ " work")
	void worksWithFullMemory() {
		RedisLeaseStore store = store();
		assertThat(acquire(store, SEMAPHORE, INSTANCE + ":1", 4)).isInstanceOf(Granted.class);
		assertThat(acquire(store, SEMAPHORE, INSTANCE + ":2", 1)).isInstanceOf(Granted.class);
		assertThat(acquire(store, SEMAPHORE, OTHER + ":1", 2)).isInstanceOf(Busy.class);
		assertThat(acquire(store, SEMAPHORE, OTHER + ":2", 2)).isInstanceOf(Busy.class);
		assertThat(acquire(store, LOCK, INSTANCE + ":3", 1)).isInstanceOf(Granted.class);
		configure("maxmemory", "1");
		Map<String, String> before = dump();
		for (Resource resource : List.of(SEMAPHORE, LOCK, new Resource(Kind.SEMAPHORE, "new"))) {
			assertThatExceptionOfType(StoreCommandException.class)
				.isThrownBy(() -> acquire(store, resource, INSTANCE + ":9", 1))
				.withMessageContaining("out of memory")
				.matches(StoreCommandException::isTemporary);
		}
		assertThatExceptionOfType(StoreCommandException.class).as("also without waiting")
			.isThrownBy(() -> get(store.acquire(new Resource(Kind.SEMAPHORE, "new"), ask(INSTANCE + ":8", 1), false)))
			.withMessageContaining("out of memory");
		assertThat(dump()).isEqualTo(before);
		assertThat(renew(store, INSTANCE + ":1", 4, 90_000)).isTrue();
		assertThat(state(store).holders()).extracting(TokenState::ttlMillis).last().matches((ttl) -> ttl > 60_000);
		assertThat(release(store, OTHER + ":1", 2)).isFalse();
		assertThat(release(store, INSTANCE + ":1", 4)).isTrue();
		assertThat(get(store.force(LOCK, List.of(INSTANCE + ":3")))).containsExactly(true);
		assertThat(get(store.release(LOCK, ask(INSTANCE + ":3", 1), null)).released()).isFalse();
		configure("maxmemory", "0");
		assertThat(state(store)).extracting(Standing::used, Standing::waiting).containsExactly(3, 0);
		assertThat(state(store).holders()).extracting(TokenState::token).containsExactly(OTHER + ":2", INSTANCE + ":2");
	}

	@Test
	@DisplayName("F32 Memory is full: a release brings in its next, granted or queued")
	void bringsInNextWithFullMemory() {
		RedisLeaseStore store = store();
		assertThat(acquire(store, SEMAPHORE, INSTANCE + ":1", 5)).isInstanceOf(Granted.class);
		configure("maxmemory", "1");
		assertThat(get(store.release(SEMAPHORE, ask(INSTANCE + ":1", 5), ask(INSTANCE + ":2", 5))).next())
			.isInstanceOf(Granted.class);
		configure("maxmemory", "0");
		assertThat(acquire(store, SEMAPHORE, OTHER + ":1", 5)).isInstanceOf(Busy.class);
		configure("maxmemory", "1");
		assertThat(get(store.release(SEMAPHORE, ask(INSTANCE + ":2", 5), ask(INSTANCE + ":3", 5))).next())
			.isInstanceOf(Busy.class);
		configure("maxmemory", "0");
		assertThat(state(store)).extracting(Standing::used, Standing::waiting).containsExactly(5, 1);
	}

	@ParameterizedTest
	@CsvSource({ "LOCK, 5", "LOCK, 1", "SEMAPHORE, 5", "SEMAPHORE, 1" })
	@DisplayName("F32 Memory is full: a waiter keeps its place, gets its turn and its confirmation, each time it asks;"
			+ " a newcomer is refused")
	void waiterHasItsTurnWithFullMemory(Kind kind, int permits) {
		Resource resource = new Resource(kind, "key");
		RedisLeaseStore store = store();
		assertThat(acquire(store, resource, INSTANCE + ":1", 5)).isInstanceOf(Granted.class);
		assertThat(acquire(store, resource, OTHER + ":1", permits)).isInstanceOf(Busy.class);
		configure("maxmemory", "1");
		assertThat(acquire(store, resource, OTHER + ":1", permits)).isInstanceOf(Busy.class);
		assertThatExceptionOfType(StoreCommandException.class)
			.isThrownBy(() -> acquire(store, resource, OTHER + ":2", 5))
			.withMessageContaining("out of memory");
		assertThat(get(store.inspect(resource, 9, 0)).waiting()).isEqualTo(1);
		assertThat(get(store.release(resource, ask(INSTANCE + ":1", 5), null)).released()).isTrue();
		assertThat(acquire(store, resource, OTHER + ":1", permits)).isInstanceOf(Granted.class);
		assertThat(acquire(store, resource, OTHER + ":1", permits)).isInstanceOf(Granted.class);
		assertThat(get(store.release(resource, ask(OTHER + ":1", permits), null)).released()).isTrue();
		configure("maxmemory", "0");
	}

	@Test
	@DisplayName("With confirmation by replicas a release brings in no next, whose own request gets the grant"
			+ " confirmed")
	void nextIsToBeConfirmed() {
		RedisLeaseStore store = store();
		RedisStoreOptions defaults = TestOptions.defaults();
		RedisLeaseStore confirming = store(this.template,
				new RedisStoreOptions(defaults.lockPrefix(), defaults.semaphorePrefix(), defaults.channelPrefix(), null,
						defaults.fenceRetention(), defaults.handoffTimeout(), false, defaults.fleetKey(), null,
						new Replicas(1, Duration.ofMillis(100))));
		for (Resource resource : List.of(lock("key"), SEMAPHORE)) {
			assertThat(acquire(store, resource, INSTANCE + ":1", 5)).isInstanceOf(Granted.class);
			assertThat(get(confirming.release(resource, ask(INSTANCE + ":1", 5), ask(INSTANCE + ":2", 5))))
				.isEqualTo(new ReleaseReply(true, null, true));
			assertThat(acquire(store, resource, INSTANCE + ":2", 5)).isInstanceOf(Granted.class);
			assertThat(get(confirming.release(resource, ask(INSTANCE + ":3", 5), ask(INSTANCE + ":4", 5))))
				.isEqualTo(new ReleaseReply(false, null, true));
		}
	}

	@Test
	@DisplayName("F32 Memory is full, and the state is gone: release and limit work")
	void restoresWithFullMemory() {
		RedisLeaseStore store = store();
		String state = "{semaphore:key}:state";
		assertThat(acquire(store, SEMAPHORE, INSTANCE + ":1", 2)).isInstanceOf(Granted.class);
		assertThat(acquire(store, SEMAPHORE, INSTANCE + ":2", 2)).isInstanceOf(Granted.class);
		assertThat(acquire(store, SEMAPHORE, INSTANCE + ":3", 1)).isInstanceOf(Granted.class);
		configure("maxmemory", "1");
		this.template.delete(state);
		assertThatExceptionOfType(StoreCommandException.class)
			.isThrownBy(() -> acquire(store, SEMAPHORE, INSTANCE + ":9", 1));
		assertThat(get(store.limit(SEMAPHORE, 4))).isFalse();
		this.template.delete(state);
		assertThat(renew(store, INSTANCE + ":2", 2, 90_000)).isTrue();
		this.template.delete(state);
		assertThat(release(store, INSTANCE + ":3", 1)).isTrue();
		this.template.opsForHash().delete(state, "until");
		assertThat(release(store, INSTANCE + ":1", 2)).isTrue();
		configure("maxmemory", "0");
		assertThat(state(store)).extracting(Standing::limit, Standing::used).containsExactly(4, 2);
	}

	@ParameterizedTest
	@ValueSource(strings = { "used", "until" })
	@DisplayName("F32 Memory is full, and a part of the state is gone: a forced release works")
	void forcesWithFullMemory(String part) {
		RedisLeaseStore store = store();
		assertThat(acquire(store, SEMAPHORE, INSTANCE + ":1", 3)).isInstanceOf(Granted.class);
		assertThat(acquire(store, SEMAPHORE, INSTANCE + ":2", 2)).isInstanceOf(Granted.class);
		configure("maxmemory", "1");
		this.template.opsForHash().delete("{semaphore:key}:state", part);
		assertThat(get(store.force(SEMAPHORE, List.of(INSTANCE + ":1")))).containsExactly(true);
		configure("maxmemory", "0");
		assertThat(state(store).used()).isEqualTo(2);
	}

	@Test
	@DisplayName("F35 Without the right to publish, a release still passes permits on")
	void releasesWithoutRightToPublish() {
		setUser("app", "on", ">secret", "~*", "resetchannels", "+@all");
		RedisLeaseStore store = store(login());
		store.start(INSTANCE, mock(StoreNotifications.class));
		for (Resource resource : List.of(SEMAPHORE, LOCK)) {
			assertThat(acquire(store, resource, INSTANCE + ":1", 5)).isInstanceOf(Granted.class);
			assertThat(acquire(store, resource, OTHER + ":1", 5)).isInstanceOf(Busy.class);
			assertThat(get(store.release(resource, ask(INSTANCE + ":1", 5), null)).released()).isTrue();
			assertThat(holders(store, resource)).containsExactly(OTHER + ":1");
			assertThat(get(store.force(resource, List.of(OTHER + ":1")))).containsExactly(true);
			assertThat(holders(store, resource)).isEmpty();
		}
		assertThat(store.isListening()).isFalse();
	}

	@ParameterizedTest
	@ValueSource(strings = { "hget", "zscore", "zcard" })
	@DisplayName("F35 Without the right to read a lease its renewal fails, and the lease does not count as lost")
	void doesNotTakeMissingRightForLoss(String command) {
		setUser("app", "on", ">secret", "~*", "&*", "+@all", "-" + command);
		RedisLeaseStore store = store(login());
		acquire(store(), SEMAPHORE, INSTANCE + ":1", 2);
		assertThatExceptionOfType(StoreCommandException.class)
			.isThrownBy(() -> renew(store, INSTANCE + ":1", 2, 30_000))
			.withMessageContaining("does not give the application's user a right");
	}

	@Test
	@DisplayName("The cost of a command hardly depends on the number of holders and waiters")
	void costHardlyGrows() {
		RedisLeaseStore store = store();
		Map<String, Double> few = costs(store, 10, 10);
		Map<String, Double> many = costs(store, 100_000, 20_000);
		// A full read of holders or queue takes many milliseconds.
		many.forEach((command, micros) -> assertThat(micros).as(command + " in us, before: " + few)
			.isLessThan(10 * few.get(command) + 500));
	}

	/** Return the average cost of each command for the server, in microseconds. */
	private Map<String, Double> costs(RedisLeaseStore store, int holders, int waiting) {
		this.template.delete(this.template.keys("*"));
		fill(holders, waiting);
		Map<String, Double> costs = new TreeMap<>();
		Resource another = new Resource(Kind.SEMAPHORE, "another");
		List<String> names = List.of("refused", "queued", "repeated", "cancelled", "granted", "renewed", "released",
				"renewed in vain", "released in vain", "unknown released");
		for (String name : names) {
			commands().resetConfigStats();
			for (int i = 1; i <= 100; i++) {
				String token = INSTANCE + ":" + i;
				AcquireCommand ask = new AcquireCommand(token, 2, holders + 1, true, 600_000, 600_000);
				AcquireCommand passing = new AcquireCommand(token, 2, holders + 1000, false, 600_000, 600_000);
				CompletableFuture<?> reply = switch (name) {
					case "refused" -> store.acquire(SEMAPHORE, ask, false);
					case "queued", "repeated" -> store.acquire(SEMAPHORE, ask, true);
					case "granted" -> store.acquire(SEMAPHORE, passing, false);
					case "renewed", "renewed in vain" -> store.renew(List.of(new Renewal(SEMAPHORE, token, 2, 60_000)));
					case "unknown released" -> store.release(SEMAPHORE, AcquireCommand.unknown(token, 600_000), null);
					default -> store.release(SEMAPHORE, ask, null);
				};
				get(reply);
			}
			String stats = commands().info("commandstats").getProperty("cmdstat_evalsha");
			costs.put(name, Double.valueOf(stats.replaceAll(".*usec_per_call=([0-9.]+),.*", "$1")));
		}
		assertThat(state(store)).extracting(Standing::used, Standing::waiting).containsExactly(holders, waiting);
		return costs;
	}

	/** Fill a semaphore: all permits are held. */
	private void fill(int holders, int waiting) {
		String until = "" + (System.currentTimeMillis() + 600_000);
		String script = """
				for i = 1, tonumber(ARGV[1]) do
				  redis.call('ZADD', KEYS[1], ARGV[3] + i, ARGV[4] .. ':' .. (1000000 + i) .. ':1')
				end
				local now = string.format('%.0f', (ARGV[3] - 600000) * 1000)
				for i = 1, tonumber(ARGV[2]) do
				  -- As waiters that poll: waiters without a subscription would count as dead.
				  local token, entry = ARGV[4] .. ':' .. (2000000 + i), ':2:600000:' .. ARGV[1] .. ':p'
				  redis.call('ZADD', KEYS[2], now + i, token .. entry)
				  redis.call('HSET', KEYS[3], token, now .. entry)
				end
				redis.call('HSET', KEYS[3], 'used', ARGV[1], 'until', ARGV[3], 'asked', ARGV[1], 'fence', now)
				return 1
				""";
		this.template.execute(new DefaultRedisScript<>(script, Long.class),
				List.of("{semaphore:key}:holders", "{semaphore:key}:queue", "{semaphore:key}:state"), "" + holders,
				"" + waiting, until, OTHER);
	}

	private Map<String, String> dump() {
		Map<String, String> dump = new TreeMap<>();
		this.template.keys("*").forEach((key) -> dump.put(key, Arrays.toString(this.template.dump(key))));
		return dump;
	}

	private RedisServerCommands commands() {
		return this.template.getRequiredConnectionFactory().getConnection().serverCommands();
	}

	/** Return the holders of a semaphore or a lock. */
	private static List<String> holders(RedisLeaseStore store, Resource resource) {
		return get(store.inspect(resource, 9, 0)).holders().stream().map(TokenState::token).toList();
	}

	private static AcquireCommand ask(String token, int permits) {
		return new AcquireCommand(token, permits, 5, true, 30_000, 5_000);
	}

	private static AcquireReply acquire(RedisLeaseStore store, Resource resource, String token, int permits) {
		return get(store.acquire(resource, ask(token, permits), true));
	}

	private static boolean release(RedisLeaseStore store, String token, int permits) {
		return get(store.release(SEMAPHORE, ask(token, permits), null)).released();
	}

	private static boolean renew(RedisLeaseStore store, String token, int permits, long leaseMillis) {
		return get(store.renew(List.of(new Renewal(SEMAPHORE, token, permits, leaseMillis)))).get(0);
	}

	private static Standing state(RedisLeaseStore store) {
		return get(store.inspect(SEMAPHORE, 5, 0));
	}

	@Test
	@DisplayName("With full memory, a release of a lost lease is answered, and a request without waiting gets the"
			+ " owner")
	void releaseBesideExclusiveWithFullMemory() throws Exception {
		RedisLeaseStore store = store();
		AcquireCommand reader = new AcquireCommand(INSTANCE + ":1", 1, Resource.ALL, true, 300, 300);
		AcquireCommand writer = new AcquireCommand(OTHER + ":2", Resource.ALL, Resource.ALL, true, 9000, 5000);
		assertThat(get(store.acquire(LOCK, reader, true))).isInstanceOf(Granted.class);
		assertThat(get(store.acquire(LOCK, writer, true))).isInstanceOf(Busy.class);
		await().until(() -> get(
				store.acquire(lock("key"), Commands.forLock(OTHER + ":3", 9000, 5000), false)) instanceof Granted);
		configure("maxmemory", "1");
		assertThat(get(store.release(LOCK, reader, null)).released()).isFalse();
		assertThat(get(store.force(LOCK, List.of(reader.token())))).containsExactly(false);
		assertThat(get(store.acquire(LOCK, reader, false))).isInstanceOf(Busy.class);
	}

}
