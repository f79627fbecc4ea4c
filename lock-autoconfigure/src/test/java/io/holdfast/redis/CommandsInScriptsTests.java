package io.holdfast.redis;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

import org.springframework.data.redis.connection.RedisServerCommands;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

import static io.holdfast.engine.Locks.lock;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.Mockito.mock;

/**
 * The commands that scripts call for one turn. Each takes Redis time, while all else
 * waits: where a number here grows, locks become slower.
 */
@WithRedis
@Execution(ExecutionMode.CONCURRENT)
class CommandsInScriptsTests {

	private static final Resource LOCK = lock("key");

	private static final Resource SEMAPHORE = new Resource(Kind.SEMAPHORE, "key");

	/** What the driver and the test send. */
	private static final Set<String> NOT_IN_SCRIPTS = Set.of("evalsha", "eval", "info", "config|resetstat", "ping");

	private final RedisServer server;

	private final StringRedisTemplate template;

	private final List<LettuceConnectionFactory> factories = new ArrayList<>();

	private final List<RedisLeaseStore> stores = new ArrayList<>();

	private int tokens;

	CommandsInScriptsTests(TestRedis redis) {
		this.server = redis.startServer();
		this.template = new StringRedisTemplate(factory());
		for (int i = 0; i < 4; i++) {
			RedisLeaseStore store = new RedisLeaseStore(new StringRedisTemplate(factory()),
					RedisStoreOptions.defaults());
			this.stores.add(store);
			store.start(instance(i), mock(StoreNotifications.class));
			await().until(store::isListening);
		}
	}

	private LettuceConnectionFactory factory() {
		LettuceConnectionFactory factory = new LettuceConnectionFactory(
				new RedisStandaloneConfiguration("localhost", this.server.port()));
		factory.afterPropertiesSet();
		factory.start();
		this.factories.add(factory);
		return factory;
	}

	@AfterEach
	void close() {
		this.stores.forEach(RedisLeaseStore::close);
		this.factories.forEach(LettuceConnectionFactory::destroy);
	}

	@Test
	@DisplayName("a lock that is free: five to acquire and three to release")
	void freeLock() {
		AcquireCommand command = command(0, 1);
		assertThat(counted(() -> acquire(LOCK, command))).isEqualTo("get 1, set 2, time 1, zcard 1");
		assertThat(counted(() -> release(LOCK, command, null))).isEqualTo("del 1, get 1, zcard 1");
	}

	@Test
	@DisplayName("a lock that is passed on inside an instance: five")
	void lockPassedOn() {
		AcquireCommand held = command(0, 1);
		AcquireCommand next = command(0, 1);
		acquire(LOCK, held);
		assertThat(counted(() -> assertThat(release(LOCK, held, next).next()).isInstanceOf(Granted.class)))
			.isEqualTo("get 1, set 2, time 1, zrange 1");
	}

	@Test
	@DisplayName("a lock in strict order that goes to another instance: nine, and eight if its own has no further waiter")
	void lockInStrictOrder() {
		Deque<AcquireCommand> order = queue(LOCK, 1, 4, 4);
		assertThat(turn(LOCK, order))
			.isEqualTo("get 1, publish 1, pubsub|numsub 1, set 2, time 1, zadd 1, zrange 1, zrem 1");
		AcquireCommand held = order.remove();
		assertThat(counted(() -> release(LOCK, held, null)))
			.isEqualTo("get 1, publish 1, pubsub|numsub 1, set 2, time 1, zcard 1, zrange 1, zrem 1");
	}

	@Test
	@DisplayName("a lock in strict order between two instances: nine")
	void lockBetweenTwo() {
		assertThat(turn(LOCK, queue(LOCK, 1, 2, 2)))
			.isEqualTo("get 1, publish 1, pubsub|numsub 1, set 2, time 1, zadd 1, zrange 1, zrem 1");
	}

	@Test
	@DisplayName("a permit that is free: nine to acquire and seven to release")
	void freePermit() {
		AcquireCommand command = command(0, 10);
		assertThat(counted(() -> acquire(SEMAPHORE, command)))
			.isEqualTo("get 1, hmget 1, hset 1, pexpireat 2, time 1, zadd 1, zcard 2");
		assertThat(counted(() -> release(SEMAPHORE, command, null)))
			.isEqualTo("del 1, hmget 1, time 1, zcard 2, zrem 1, zscore 1");
	}

	@Test
	@DisplayName("a permit in strict order inside an instance: fifteen")
	void permitInStrictOrder() {
		assertThat(turn(SEMAPHORE, queue(SEMAPHORE, 3, 1, 8)))
			.isEqualTo("get 1, hdel 1, hmget 1, hset 1, time 1, zadd 2, zcard 2, zrange 3, zrem 2, zscore 1");
	}

	@Test
	@DisplayName("a permit in strict order that goes to another instance: seventeen")
	void permitForAnother() {
		assertThat(turn(SEMAPHORE, queue(SEMAPHORE, 3, 4, 8))).isEqualTo("get 1, hdel 1, hmget 1, hset 1, publish 1, "
				+ "pubsub|numsub 1, time 1, zadd 2, zcard 2, zrange 3, zrem 2, zscore 1");
	}

	/** Have tokens of several instances ask; the first ones are granted it, in order. */
	private Deque<AcquireCommand> queue(Resource resource, int limit, int instances, int count) {
		Deque<AcquireCommand> order = new ArrayDeque<>();
		for (int i = 0; i < count; i++) {
			AcquireCommand command = command(i % instances, limit);
			assertThat(acquire(resource, command)).isInstanceOf((i < limit) ? Granted.class : Busy.class);
			order.add(command);
		}
		return order;
	}

	/**
	 * Have the first one release, and bring in the next one of its instance. Now and then
	 * a turn has to look at the expiry of the queue as well.
	 * @return the fewest commands of some turns
	 */
	private String turn(Resource resource, Deque<AcquireCommand> order) {
		List<String> counts = new ArrayList<>();
		for (int i = 0; i < 9; i++) {
			AcquireCommand held = order.remove();
			AcquireCommand next = command(instanceOf(held), held.limit());
			counts.add(counted(
					() -> assertThat(release(resource, held, next).next()).as("next").isInstanceOf(Busy.class)));
			order.add(next);
		}
		return counts.stream().min(Comparator.comparing(String::length)).orElseThrow();
	}

	private String counted(Runnable command) {
		RedisServerCommands commands = this.template.getRequiredConnectionFactory().getConnection().serverCommands();
		commands.resetConfigStats();
		command.run();
		TreeMap<String, String> calls = new TreeMap<>();
		commands.info("commandstats")
			.forEach((name, value) -> calls.put(name.toString().substring("cmdstat_".length()),
					value.toString().replaceAll("calls=(\\d+),.*", "$1")));
		calls.keySet().removeAll(NOT_IN_SCRIPTS);
		return calls.entrySet()
			.stream()
			.map((call) -> call.getKey() + " " + call.getValue())
			.collect(Collectors.joining(", "));
	}

	private AcquireCommand command(int instance, int limit) {
		return new AcquireCommand(instance(instance) + ":" + ++this.tokens, 1, limit, true, null, 30_000, 5_000);
	}

	private static String instance(int number) {
		return "0123456789abcdef0123456789abcde" + number;
	}

	private static int instanceOf(AcquireCommand command) {
		return command.token().charAt(31) - '0';
	}

	private AcquireReply acquire(Resource resource, AcquireCommand command) {
		return get(this.stores.get(instanceOf(command)).acquire(resource, command, true));
	}

	private ReleaseReply release(Resource resource, AcquireCommand ended, @Nullable AcquireCommand next) {
		return get(this.stores.get(instanceOf(ended)).release(resource, ended, next));
	}

	private static <T> T get(CompletableFuture<T> reply) {
		try {
			return reply.get(10, TimeUnit.SECONDS);
		}
		catch (InterruptedException | ExecutionException | TimeoutException ex) {
			throw new IllegalStateException(ex);
		}
	}

}
