package io.holdfast.benchmark;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Stream;

import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.testing.TestApplication;
import io.lettuce.core.LettuceFutures;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Import;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;
import org.springframework.util.Assert;

/**
 * Who takes part. Each with its defaults, but for the time that a lease lasts, which is
 * the same for all that have one.
 */
enum ContenderType {

	/** Locks of an application, acquired and released by hand. */
	HOLDFAST("Holdfast", "bench:", Set.of(), (redis, lease) -> holdfast(application(redis, lease))),

	HOLDFAST_WITH_LOCK("Holdfast, withLock", "bench:", Set.of(), (redis, lease) -> {
		ConfigurableApplicationContext application = application(redis, lease);
		LockService locks = application.getBean(LockService.class);
		return Contender.of((key, body) -> locks.withLock(key, body::run), application::close);
	}),

	HOLDFAST_ANNOTATED("Holdfast, annotated", "bench:", Set.of(), (redis, lease) -> {
		ConfigurableApplicationContext application = application(redis, lease);
		Guarded guarded = application.getBean(Guarded.class);
		return Contender.of(guarded::run, application::close);
	}),

	/** Without anything that is passed on within an instance. */
	HOLDFAST_STRICT("Holdfast, strict order", "bench:", Set.of(),
			(redis, lease) -> holdfast(strictApplication(redis, lease))),

	R_LOCK("RLock", "", Set.of(), (redis, lease) -> {
		RedissonClient client = redisson(redis, lease);
		return redissonLocks(client, client::getLock);
	}),

	R_FAIR_LOCK("RFairLock", "", Set.of(), (redis, lease) -> {
		RedissonClient client = redisson(redis, lease);
		return redissonLocks(client, client::getFairLock);
	}),

	REGISTRY_SPIN("RedisLockRegistry, spin", "registry:", Set.of(),
			(redis, lease) -> registry(redis, lease, RedisLockType.SPIN_LOCK)),

	REGISTRY_PUBSUB("RedisLockRegistry, pub/sub", "registry:", Set.of(),
			(redis, lease) -> registry(redis, lease, RedisLockType.PUB_SUB_LOCK)),

	REGISTRY_EXECUTE("RedisLockRegistry, executeLocked", "registry:", Set.of(), (redis, lease) -> {
		LettuceConnectionFactory factory = factory(redis);
		RedisLockRegistry registry = new RedisLockRegistry(factory, "registry", lease.toMillis());
		return Contender.of((key, body) -> registry.executeLocked(key, body::run), () -> {
			registry.destroy();
			factory.destroy();
		});
	}),

	/** A caller that finds the lock taken does not wait, and runs nothing. */
	SHEDLOCK("ShedLock", "job-lock:default:", Set.of("set", "del"), ContenderType::shedLock),

	TEMPLATE("StringRedisTemplate", "", Set.of("set"), ContenderType::template),

	/** The bare pair: nothing but the two commands. */
	LETTUCE("bare Lettuce", "", Set.of("set"), (redis, lease) -> lettuce(redis, lease, true)),

	LETTUCE_UNAWAITED("bare Lettuce, release not awaited", "", Set.of("set"),
			(redis, lease) -> lettuce(redis, lease, false)),

	HOLDFAST_PERMITS("Holdfast, fair", "", Set.of(),
			(redis, lease) -> holdfastPermits(application(redis, lease), true)),

	HOLDFAST_STRICT_PERMITS("Holdfast, fair, strict order", "", Set.of(),
			(redis, lease) -> holdfastPermits(strictApplication(redis, lease), true)),

	HOLDFAST_UNFAIR_PERMITS("Holdfast, not fair", "", Set.of(),
			(redis, lease) -> holdfastPermits(application(redis, lease), false)),

	R_SEMAPHORE("RSemaphore", "", Set.of(), (redis, lease) -> {
		RedissonClient client = redisson(redis, lease);
		Map<String, RSemaphore> semaphores = new ConcurrentHashMap<>();
		return Contender.of((key) -> {
			RSemaphore semaphore = semaphores.computeIfAbsent(key, (name) -> semaphore(client, name));
			semaphore.acquire();
			return semaphore::release;
		}, client::shutdown);
	}),

	R_PERMITS("RPermitExpirableSemaphore", "", Set.of(), (redis, lease) -> {
		RedissonClient client = redisson(redis, lease);
		Map<String, RPermitExpirableSemaphore> semaphores = new ConcurrentHashMap<>();
		return Contender.of((key) -> {
			RPermitExpirableSemaphore semaphore = semaphores.computeIfAbsent(key,
					(name) -> expirableSemaphore(client, name));
			String permit = semaphore.acquire(lease.toMillis(), TimeUnit.MILLISECONDS);
			return () -> semaphore.release(permit);
		}, client::shutdown);
	});

	/** How many permits each semaphore has. */
	static final int PERMITS = 10;

	private static final String DELETE_IF_OWNER = """
			if redis.call('GET', KEYS[1]) == ARGV[1] then
				return redis.call('DEL', KEYS[1])
			end
			return 0
			""";

	private final String label;

	private final String keyPrefix;

	private final Set<String> plainCommands;

	private final BiFunction<RedisAddress, Duration, Contender> opening;

	ContenderType(String label, String keyPrefix, Set<String> plainCommands,
			BiFunction<RedisAddress, Duration, Contender> opening) {
		this.label = label;
		this.keyPrefix = keyPrefix;
		this.plainCommands = plainCommands;
		this.opening = opening;
	}

	/** As it is named in the tables. */
	String label() {
		return this.label;
	}

	/** Whether it is one of ours. */
	boolean isOwn() {
		return name().startsWith("HOLDFAST");
	}

	/** Where the lock of a key is in Redis. */
	String redisKey(String key) {
		return this.keyPrefix + key;
	}

	/** What it sends besides scripts, and what comes from no script of its own. */
	Set<String> plainCommands() {
		return this.plainCommands;
	}

	/** Connect as one more instance. */
	Contender open(RedisAddress redis, Duration lease) {
		return this.opening.apply(redis, lease);
	}

	private static ConfigurableApplicationContext application(RedisAddress redis, Duration lease,
			String... properties) {
		Stream<String> times = Stream.of("holdfast.lock.wait-time=-1", "holdfast.lock.lease-time=" + lease,
				"holdfast.semaphore.lease-time=" + lease);
		return TestApplication.start(Application.class, redis.host(), redis.port(), "bench:",
				Stream.concat(times, Stream.of(properties)).toList());
	}

	private static ConfigurableApplicationContext strictApplication(RedisAddress redis, Duration lease) {
		return application(redis, lease, "holdfast.lock.local-hand-over.max-count=0",
				"holdfast.semaphore.local-hand-over.max-count=0");
	}

	private static Contender holdfast(ConfigurableApplicationContext application) {
		LockService locks = application.getBean(LockService.class);
		return new Contender() {

			@Override
			public Held acquire(String key) {
				return locks.acquire(key)::release;
			}

			@Override
			public CompletableFuture<Held> acquireAsync(String key) {
				return locks.acquireAsync(LockRequest.of(key)).thenApply((lease) -> lease::close);
			}

			@Override
			public void close() {
				application.close();
			}

		};
	}

	private static Contender holdfastPermits(ConfigurableApplicationContext application, boolean fair) {
		SemaphoreService semaphores = application.getBean(SemaphoreService.class);
		return Contender.of(
				(key) -> semaphores.acquire(SemaphoreRequest.of(key, PERMITS).waitForever().fair(fair))::release,
				application::close);
	}

	private static RedissonClient redisson(RedisAddress redis, Duration lease) {
		Config config = new Config();
		config.setLockWatchdogTimeout(lease.toMillis());
		config.useSingleServer().setAddress("redis://" + redis.host() + ":" + redis.port());
		return Redisson.create(config);
	}

	/** The first call for a key sets the number of permits, later ones change nothing. */
	private static RSemaphore semaphore(RedissonClient client, String key) {
		RSemaphore semaphore = client.getSemaphore(key);
		semaphore.trySetPermits(PERMITS);
		return semaphore;
	}

	private static RPermitExpirableSemaphore expirableSemaphore(RedissonClient client, String key) {
		RPermitExpirableSemaphore semaphore = client.getPermitExpirableSemaphore(key);
		semaphore.trySetPermits(PERMITS);
		return semaphore;
	}

	private static Contender redissonLocks(RedissonClient client, Function<String, RLock> locks) {
		return Contender.of((key) -> {
			RLock lock = locks.apply(key);
			lock.lock();
			return lock::unlock;
		}, client::shutdown);
	}

	private static LettuceConnectionFactory factory(RedisAddress redis) {
		LettuceConnectionFactory factory = new LettuceConnectionFactory(
				new RedisStandaloneConfiguration(redis.host(), redis.port()));
		factory.afterPropertiesSet();
		factory.start();
		return factory;
	}

	private static Contender registry(RedisAddress redis, Duration lease, RedisLockType type) {
		LettuceConnectionFactory factory = factory(redis);
		RedisLockRegistry registry = new RedisLockRegistry(factory, "registry", lease.toMillis());
		registry.setRedisLockType(type);
		return Contender.of((key) -> {
			Lock lock = registry.obtain(key);
			lock.lock();
			return lock::unlock;
		}, () -> {
			registry.destroy();
			factory.destroy();
		});
	}

	private static Contender shedLock(RedisAddress redis, Duration lease) {
		LettuceConnectionFactory factory = factory(redis);
		LockingTaskExecutor executor = new DefaultLockingTaskExecutor(new RedisLockProvider(factory));
		return Contender.of((key, body) -> executor.executeWithLock(body,
				new LockConfiguration(Instant.now(), key, lease, Duration.ZERO)), factory::destroy);
	}

	private static Contender template(RedisAddress redis, Duration lease) {
		LettuceConnectionFactory factory = factory(redis);
		StringRedisTemplate template = new StringRedisTemplate(factory);
		RedisScript<Long> delete = RedisScript.of(DELETE_IF_OWNER, Long.class);
		String instance = UUID.randomUUID() + ":";
		AtomicLong tokens = new AtomicLong();
		return Contender.of((key) -> {
			String token = instance + tokens.incrementAndGet();
			Assert.state(Boolean.TRUE.equals(template.opsForValue().setIfAbsent(key, token, lease)), "not free");
			return () -> template.execute(delete, List.of(key), token);
		}, factory::destroy);
	}

	private static Contender lettuce(RedisAddress redis, Duration lease, boolean awaitsRelease) {
		RedisClient client = RedisClient.create(RedisURI.create(redis.host(), redis.port()));
		StatefulRedisConnection<String, String> connection = client.connect();
		RedisAsyncCommands<String, String> commands = connection.async();
		String delete = connection.sync().scriptLoad(DELETE_IF_OWNER);
		String instance = UUID.randomUUID() + ":";
		AtomicLong tokens = new AtomicLong();
		return Contender.of((key) -> {
			String token = instance + tokens.incrementAndGet();
			SetArgs ifAbsent = SetArgs.Builder.nx().px(lease.toMillis());
			Assert.state("OK".equals(await(commands.set(key, token, ifAbsent))), "not free");
			return () -> {
				RedisFuture<Long> released = commands.evalsha(delete, ScriptOutputType.INTEGER, new String[] { key },
						token);
				if (awaitsRelease) {
					await(released);
				}
			};
		}, client::shutdown);
	}

	private static <T> T await(RedisFuture<T> answer) {
		return LettuceFutures.awaitOrCancel(answer, 10, TimeUnit.SECONDS);
	}

	/**
	 * An application with one annotated method.
	 */
	@Import({ TestApplication.class, Guarded.class })
	static class Application {

	}

	/**
	 * The bean with that method.
	 */
	static class Guarded {

		@DistributedLock(key = "#key")
		void run(String key, Runnable body) {
			body.run();
		}

	}

}
