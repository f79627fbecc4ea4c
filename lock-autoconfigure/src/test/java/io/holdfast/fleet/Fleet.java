package io.holdfast.fleet;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;

import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.engine.Idleness;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.testing.Order;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import org.jspecify.annotations.Nullable;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.data.redis.core.Cursor;
import org.springframework.data.redis.core.ScanOptions;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Instances of a test on one Redis, and their keys there. Closed at the test's end at the
 * latest.
 */
final class Fleet implements AutoCloseable {

	/**
	 * Longest time until the next waiter is served without trouble. Far above the usual
	 * time, and below the shortest polling interval of 2 s: so polling was not the
	 * reason.
	 */
	static final Duration PROMPT = Duration.ofMillis(1500);

	/** Longest wait of a test for an expected event. */
	static final Duration PATIENCE = Duration.ofSeconds(20);

	@SuppressWarnings("rawtypes")
	private static final RedisScript<List> CHANNELS = RedisScript.of("return redis.call('PUBSUB', 'CHANNELS', ARGV[1])",
			List.class);

	private static final RedisScript<Long> FIRST_LEASE = RedisScript.of("""
			local time = redis.call('TIME')
			local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
			return first[2] and first[2] - time[1] * 1000 - math.floor(time[2] / 1000) or -1
			""", Long.class);

	private final TestRedis redis;

	private final List<ConfigurableApplicationContext> contexts = new ArrayList<>();

	private final List<LockService> services = new ArrayList<>();

	private final List<Worker> workers = new CopyOnWriteArrayList<>();

	Fleet(TestRedis redis) {
		this.redis = redis;
		redis.closeAtEnd(this::close);
	}

	/**
	 * Start a further instance in this JVM. Blocks until the instance receives wake-ups.
	 */
	LockService start(String... properties) {
		int before = channels().size();
		ConfigurableApplicationContext context = TestApplication.start(this.redis.host(), this.redis.port(),
				this.redis.keyPrefix(), List.of(properties));
		this.contexts.add(context);
		LockService service = context.getBean(LockService.class);
		this.services.add(service);
		await("subscription").atMost(PATIENCE).until(() -> channels().size() > before);
		return service;
	}

	/** Start several instances in this JVM. */
	List<LockService> start(int count, String... properties) {
		List<LockService> started = new ArrayList<>();
		for (int i = 0; i < count; i++) {
			started.add(start(properties));
		}
		return started;
	}

	/**
	 * Start several instances in this JVM; every second instance hands leases over among
	 * its threads.
	 */
	List<LockService> startMixed(int count) {
		return IntStream.range(0, count).mapToObj((i) -> start(Order.values()[i % 2].properties())).toList();
	}

	/** Start several instances in this JVM. */
	List<SemaphoreService> startSemaphores(int count, String... properties) {
		return start(count, properties).stream().map(this::semaphores).toList();
	}

	/** Return the semaphores of a lock service's instance. */
	SemaphoreService semaphores(LockService locks) {
		return this.contexts.get(this.services.indexOf(locks)).getBean(SemaphoreService.class);
	}

	/** Return the engine of a lock service's instance. */
	LeaseEngine engine(LockService locks) {
		return this.contexts.get(this.services.indexOf(locks)).getBean(LeaseEngine.class);
	}

	/**
	 * Start a further instance in its own JVM. Returns at once; the instance is ready
	 * when it answers.
	 */
	Worker startWorker(String... properties) {
		return add(new Worker(this.redis, null, List.of(properties)));
	}

	/** Start a further instance of another version in its own JVM. */
	Worker startOther(String classPath, String... properties) {
		return add(Worker.of(classPath, this.redis, List.of(properties)));
	}

	/**
	 * Start several instances in JVMs of their own; every second instance hands leases
	 * over among its threads.
	 */
	List<Worker> startMixedWorkers(int count) {
		return IntStream.range(0, count).mapToObj((i) -> startWorker(Order.values()[i % 2].properties())).toList();
	}

	/** Start a further instance with a wrong clock in its own JVM. */
	Worker startWorker(Duration clockShift) {
		return add(new Worker(this.redis, clockShift, List.of()));
	}

	/**
	 * Start a further instance in a small JVM of its own, which uses a semaphore and a
	 * lock until it is killed. May be called by many threads.
	 * @param order whether the instance hands leases over among its threads
	 * @param most the request for the most permits at a time
	 * @param threads number of threads for permits
	 * @param lock the request for the lock
	 * @param lockThreads number of threads for the lock
	 * @return the child
	 */
	Worker startUser(Order order, SemaphoreRequest most, int threads, LockRequest lock, int lockThreads) {
		return add(Worker.using(this.redis, order, most, threads, lock, lockThreads));
	}

	private Worker add(Worker worker) {
		this.workers.add(worker);
		return worker;
	}

	StringRedisTemplate template() {
		return this.redis.template();
	}

	String lockKey(String key) {
		return this.redis.keyPrefix() + key;
	}

	/** Return the key of the queue for a lock. */
	String queueKey(String key) {
		return "{" + lockKey(key) + "}:queue";
	}

	/**
	 * Return a key of a semaphore: its holders, queue or state, or the operator's limit.
	 */
	String semaphoreKey(String key, String part) {
		return "{" + TestApplication.semaphorePrefix(this.redis.keyPrefix()) + key + "}:" + part;
	}

	Data data() {
		return new Data(template(), this.redis.keyPrefix());
	}

	PlainClient plainClient() {
		return new PlainClient(template(), this.redis.keyPrefix());
	}

	@Nullable String owner(String key) {
		return template().opsForValue().get(lockKey(key));
	}

	/**
	 * Return the remaining milliseconds of the lock key; -1 without an expiry, -2 without
	 * the key.
	 */
	long ttl(String key) {
		return template().execute(RedisScript.of("return redis.call('PTTL', KEYS[1])", Long.class),
				List.of(lockKey(key)));
	}

	/**
	 * Return the remaining milliseconds of the first lease to end, by the server's clock;
	 * -1 without a holder.
	 * @param holders the key of the holders in Redis
	 */
	long firstLeaseLeft(String holders) {
		return template().execute(FIRST_LEASE, List.of(holders));
	}

	/** Wait until the queue of a key has the given number of instances. */
	void awaitWaiting(String key, int instances) {
		awaitSize(queueKey(key), instances);
	}

	/** Wait until the queue of a semaphore has the given number of requests. */
	void awaitWaitingForPermits(String key, int requests) {
		awaitSize(semaphoreKey(key, "queue"), requests);
	}

	private void awaitSize(String queue, int size) {
		await(size + " waiting in " + queue).atMost(PATIENCE)
			.pollDelay(Duration.ZERO)
			.pollInterval(Duration.ofMillis(5))
			.until(() -> template().opsForZSet().zCard(queue) == size);
	}

	/** Return the Pub/Sub channels of this fleet with subscribers. */
	List<?> channels() {
		return template().execute(CHANNELS, List.of(), this.redis.keyPrefix() + "*");
	}

	/** Return all keys of locks and semaphores in Redis. */
	Set<String> keys() {
		Set<String> keys = new TreeSet<>();
		for (String start : List.of("", "\\{")) {
			ScanOptions options = ScanOptions.scanOptions()
				.match(start + this.redis.keyPrefix() + "*")
				.count(1000)
				.build();
			try (Cursor<String> cursor = template().scan(options)) {
				cursor.forEachRemaining(keys::add);
			}
		}
		keys.remove(TestApplication.fleetKey(this.redis.keyPrefix()));
		return keys;
	}

	/**
	 * Wait until all keys of holds and waits are gone: only fences of locks are left,
	 * which expire, and one subscription per instance.
	 */
	void awaitNothingLeft() {
		await("nothing left").atMost(PATIENCE).untilAsserted(() -> {
			assertThat(keys())
				.allMatch((key) -> key.startsWith("{") && (key.endsWith("}:fence") || key.endsWith("}:seen")),
						"is remembered for a while")
				.noneMatch((key) -> key.startsWith("{" + TestApplication.semaphorePrefix(this.redis.keyPrefix())));
			assertThat(this.services).allMatch(Idleness::of, "is idle");
			assertThat(channels()).as("one channel per instance, none per key").hasSize(liveInstances());
		});
		// -1 is without an expiry; a key may have expired by now, or in the present
		// second.
		assertThat(keys()).allMatch((key) -> template().getExpire(key) != -1, "expires");
	}

	private int liveInstances() {
		long contexts = this.contexts.stream().filter(ConfigurableApplicationContext::isActive).count();
		return (int) (contexts + this.workers.stream().filter(Worker::isReady).count());
	}

	/** Close the instance of a service, like a stop of its application. */
	void stop(LockService service) {
		this.contexts.get(this.services.indexOf(service)).close();
	}

	@Override
	public void close() {
		this.workers.forEach(Worker::close);
		this.contexts.forEach(ConfigurableApplicationContext::close);
	}

}
