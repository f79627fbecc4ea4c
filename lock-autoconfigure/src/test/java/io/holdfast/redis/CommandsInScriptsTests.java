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
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.holdfast.engine.store.Commands;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.redis.key.TestOptions;
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
 * Commands of the scripts for one turn. Each command takes Redis time while all other
 * clients wait: where a number here grows, locks become slower.
 */
@WithRedis
@Execution(ExecutionMode.CONCURRENT)
class CommandsInScriptsTests {

	private static final Resource LOCK = lock("key");

	/** The lock, for readers. */
	private static final Resource READ = lock("key");

	private static final Resource SEMAPHORE = new Resource(Kind.SEMAPHORE, "key");

	/** Commands of the driver and of the test. */
	private static final Set<String> NOT_IN_SCRIPTS = Set.of("evalsha", "eval", "info", "config", "client", "hello",
			"ping");

	private final RedisServer server;

	private final StringRedisTemplate template;

	private final List<LettuceConnectionFactory> factories = new ArrayList<>();

	private final List<RedisLeaseStore> stores = new ArrayList<>();

	private int tokens;

	CommandsInScriptsTests(TestRedis redis) {
		this.server = redis.startServer();
		this.template = new StringRedisTemplate(factory());
		for (int i = 0; i < 4; i++) {
			RedisLeaseStore store = new RedisLeaseStore(factory(), TestOptions.defaults());
			this.stores.add(store);
			store.start(instance(i), mock(StoreNotifications.class));
			await().until(store::isListening);
		}
	}

	private LettuceConnectionFactory factory() {
		LettuceConnectionFactory factory = new LettuceConnectionFactory(
				new RedisStandaloneConfiguration(this.server.host(), this.server.port()));
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
	@DisplayName("A free lock: five to acquire and three to release")
	void freeLock() {
		assertThat(acquired(LOCK, 1)).isEqualTo("get 1, set 2, time 1, zcard 1");
		assertThat(released(LOCK, 1)).isEqualTo("del 1, get 1, zcard 1");
	}

	@Test
	@DisplayName("A free lock for a reader: seven to acquire and five to release; as many to acquire beside another"
			+ " reader")
	void freeLockToRead() {
		assertThat(acquired(READ, 1)).isEqualTo("get 1, pexpireat 1, set 1, time 1, zadd 1, zcard 1, zrange 1");
		assertThat(released(READ, 1)).isEqualTo("get 1, time 1, zcard 1, zrem 1, zscore 1");
		acquire(READ, Commands.forReader(command(READ, 1, 1).token(), 60_000, 5_000));
		assertThat(acquired(READ, 1)).isEqualTo("get 1, set 1, time 1, zadd 1, zcard 1, zrange 1, zremrangebyscore 1");
	}

	@Test
	@DisplayName("An exclusive request for a lock with readers: eight, with the number of readers")
	void lockBehindReaders() {
		acquire(READ, Commands.forReader(command(READ, 1, 1).token(), 60_000, 5_000));
		assertThat(fewest(() -> {
			AcquireCommand command = command(LOCK, 0, 1);
			String calls = counted(() -> assertThat(get(this.stores.get(0).acquire(LOCK, command, false)))
				.isInstanceOfSatisfying(Busy.class, (busy) -> assertThat(busy.held()).isOne()));
			release(LOCK, command, null);
			return calls;
		})).isEqualTo("get 2, set 1, time 1, zcard 1, zcount 1, zrange 1, zscore 1");
	}

	@Test
	@DisplayName("A hand-over of a lock inside an instance: five")
	void lockPassedOn() {
		assertThat(turn(LOCK, queue(LOCK, 1, 1, 1), Granted.class)).isEqualTo("get 1, set 2, time 1, zrange 1");
	}

	@Test
	@DisplayName("A hand-over of a lock in strict order to another instance: nine, and eight without a next of the"
			+ " releasing instance")
	void lockInStrictOrder() {
		Deque<AcquireCommand> order = queue(LOCK, 1, 4, 4);
		assertThat(turn(LOCK, order, Busy.class))
			.isEqualTo("get 1, publish 1, pubsub 1, set 2, time 1, zadd 1, zrange 1, zrem 1");
		assertThat(fewest(() -> {
			AcquireCommand held = order.remove();
			order.add(command(LOCK, instanceOf(held), 1));
			assertThat(acquire(LOCK, order.getLast())).isInstanceOf(Busy.class);
			return counted(() -> release(LOCK, held, null));
		})).isEqualTo("get 1, publish 1, pubsub 1, set 2, time 1, zcard 1, zrange 1, zrem 1");
	}

	@Test
	@DisplayName("A lock in strict order between two instances: nine")
	void lockBetweenTwo() {
		assertThat(turn(LOCK, queue(LOCK, 1, 2, 2), Busy.class))
			.isEqualTo("get 1, publish 1, pubsub 1, set 2, time 1, zadd 1, zrange 1, zrem 1");
	}

	@Test
	@DisplayName("A free permit, also the last: nine to acquire and seven to release; seven to acquire beside a longer"
			+ " lease")
	void freePermit() {
		for (int limit : List.of(10, 1)) {
			assertThat(acquired(SEMAPHORE, limit))
				.isEqualTo("get 1, hmget 1, hset 1, pexpireat 2, time 1, zadd 1, zcard 2");
			assertThat(released(SEMAPHORE, limit)).isEqualTo("del 1, hmget 1, time 1, zcard 2, zrem 1, zscore 1");
		}
		acquire(SEMAPHORE, new AcquireCommand(command(SEMAPHORE, 1, 10).token(), 1, 10, true, 60_000, 5_000));
		assertThat(acquired(SEMAPHORE, 10)).isEqualTo("get 1, hmget 1, hset 1, time 1, zadd 1, zcard 2");
	}

	@Test
	@DisplayName("A hand-over of a permit in strict order inside an instance: fifteen")
	void permitInStrictOrder() {
		assertThat(turn(SEMAPHORE, queue(SEMAPHORE, 3, 1, 8), Busy.class))
			.isEqualTo("get 1, hdel 1, hmget 1, hset 1, time 1, zadd 2, zcard 2, zrange 3, zrem 2, zscore 1");
	}

	@Test
	@DisplayName("A hand-over of a permit in strict order to another instance: seventeen")
	void permitForAnother() {
		assertThat(turn(SEMAPHORE, queue(SEMAPHORE, 3, 4, 8), Busy.class))
			.isEqualTo("get 1, hdel 1, hmget 1, hset 1, publish 1, "
					+ "pubsub 1, time 1, zadd 2, zcard 2, zrange 3, zrem 2, zscore 1");
	}

	/**
	 * Request the resource for tokens of several instances; the first tokens are granted,
	 * the following tokens are queued in order.
	 */
	private Deque<AcquireCommand> queue(Resource resource, int limit, int instances, int count) {
		Deque<AcquireCommand> order = new ArrayDeque<>();
		for (int i = 0; i < count; i++) {
			AcquireCommand command = command(resource, i % instances, limit);
			assertThat(acquire(resource, command)).isInstanceOf((i < limit) ? Granted.class : Busy.class);
			order.add(command);
		}
		return order;
	}

	private String acquired(Resource resource, int limit) {
		return fewest(() -> {
			AcquireCommand command = command(resource, 0, limit);
			String calls = counted(() -> acquire(resource, command));
			release(resource, command, null);
			return calls;
		});
	}

	private String released(Resource resource, int limit) {
		return fewest(() -> {
			AcquireCommand command = command(resource, 0, limit);
			acquire(resource, command);
			return counted(() -> release(resource, command, null));
		});
	}

	/** Release the first hold of the order, with a next of its instance. */
	private String turn(Resource resource, Deque<AcquireCommand> order, Class<? extends AcquireReply> reply) {
		return fewest(() -> {
			AcquireCommand held = order.remove();
			AcquireCommand next = command(resource, instanceOf(held), held.limit());
			order.add(next);
			return counted(() -> assertThat(release(resource, held, next).next()).isInstanceOf(reply));
		});
	}

	/**
	 * Return the fewest commands of some attempts: at times a turn also checks the expiry
	 * of the queue, follows the last turn within 64 microseconds, or meets a check of the
	 * subscription.
	 */
	private static String fewest(Supplier<String> calls) {
		return Stream.generate(calls)
			.limit(9)
			.min(Comparator.comparing(String::length).thenComparing(Comparator.naturalOrder()))
			.orElseThrow();
	}

	private String counted(Runnable command) {
		RedisServerCommands commands = this.template.getRequiredConnectionFactory().getConnection().serverCommands();
		commands.resetConfigStats();
		command.run();
		TreeMap<String, String> calls = new TreeMap<>();
		commands.info("commandstats")
			.forEach((name, value) -> calls.put(name.toString().replaceAll("cmdstat_([^|]*).*", "$1"),
					value.toString().replaceAll("calls=(\\d+),.*", "$1")));
		calls.keySet().removeAll(NOT_IN_SCRIPTS);
		return calls.entrySet()
			.stream()
			.map((call) -> call.getKey() + " " + call.getValue())
			.collect(Collectors.joining(", "));
	}

	private AcquireCommand command(Resource resource, int instance, int limit) {
		String token = instance(instance) + ":" + ++this.tokens;
		return (resource == LOCK) ? Commands.forLock(token, 30_000, 5_000) : (resource == READ)
				? Commands.forReader(token, 30_000, 5_000) : new AcquireCommand(token, 1, limit, true, 30_000, 5_000);
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
