package io.holdfast.redis;

import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.async.DaemonThreads;
import io.holdfast.engine.store.Commands;
import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.redis.driver.HoldfastConnectionFactory;
import io.holdfast.redis.driver.NotificationListener;
import io.holdfast.redis.driver.ScriptExecutor;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.key.TestOptions;
import io.holdfast.testing.FaultProxy;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestRedis;
import io.lettuce.core.ClientOptions;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.RedisStaticMasterReplicaConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

import static io.holdfast.engine.Locks.lock;
import static io.holdfast.engine.Locks.renewal;
import static io.holdfast.engine.store.StoreContract.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * The store while Redis is down, silent, full, restarted or restricted.
 */
@Execution(ExecutionMode.CONCURRENT)
class RedisFaultTests extends OwnServerTestCase {

	private static final long LEASE = 30_000;

	private static final long CLAIM = 5_000;

	private final AtomicInteger listenings = new AtomicInteger();

	private final StoreNotifications wakeUps = new StoreNotifications() {

		@Override
		public void granted(Resource resource, String token, long fence, long ttlMillis) {
		}

		@Override
		public void listening() {
			RedisFaultTests.this.listenings.incrementAndGet();
		}

	};

	@Test
	@DisplayName("F10 Redis is down at the start: nothing blocks, commands fail at once, and all works when Redis is"
			+ " up")
	void startsWithoutRedis() {
		this.server.kill();
		RedisLeaseStore store = store();
		store.start(INSTANCE, this.wakeUps);
		for (int i = 0; i < 3; i++) {
			assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> acquire(store, "1"))
				.matches(StoreCommandException::isTemporary);
		}
		assertThat(store.isListening()).isFalse();
		this.server.restart();
		assertThat(acquire(store, "1")).isInstanceOf(Granted.class);
		await().atMost(Duration.ofSeconds(20)).until(store::isListening);
		assertThat(this.listenings).hasPositiveValue();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("F15 The result of RETAIN is uncertain after an unknown script, since its RELEASE may have run first")
	void retainedLate(Kind kind) {
		RedisLeaseStore store = store();
		for (long millis : List.of(0L, LEASE)) {
			Renewal lease = new Renewal(new Resource(kind, "key"), INSTANCE + ":1", 1, millis);
			template().getRequiredConnectionFactory().getConnection().scriptingCommands().scriptFlush();
			assertThat(get(store.retain(lease))).isEqualTo(new ReleaseReply(false, null, millis > 0));
			assertThat(get(store.retain(lease))).isEqualTo(new ReleaseReply(false, null, true));
		}
	}

	@Test
	@DisplayName("Commands of the driver's event loop do not overtake earlier commands of other threads")
	void orderOnEventLoop() {
		RedisLeaseStore store = store();
		AcquireCommand held = Commands.forLock(INSTANCE + ":1", LEASE, CLAIM);
		AcquireCommand next = Commands.forLock(INSTANCE + ":2", LEASE, CLAIM);
		for (int i = 0; i < 50; i++) {
			assertThat(get(store.acquire(lock("key"), held, true))).isInstanceOf(Granted.class);
			// The answer comes on the event loop, which is busy until both commands are
			// sent.
			CompletableFuture<ReleaseReply> last = store.inspect(lock("key"), 0, 0).thenCompose((state) -> {
				CompletableFuture
					.runAsync(() -> store.release(lock("key"), held, next), RedisFaultTests::onAnotherThread)
					.join();
				return store.release(lock("key"), next, null);
			});
			assertThat(get(last).released()).isTrue();
			assertThat(owner(store, "key")).isNull();
		}
	}

	private static void onAnotherThread(Runnable task) {
		new Thread(task).start();
	}

	@Test
	@DisplayName("F9 Redis is silent and the driver's queue is full: further commands fail at once, later ones are"
			+ " sent")
	void boundedQueue() {
		LettuceClientConfiguration client = LettuceClientConfiguration.builder()
			.clientResources(TestRedis.clientConfiguration().getClientResources().orElseThrow())
			.clientOptions(ClientOptions.builder().requestQueueSize(2).build())
			.build();
		LettuceConnectionFactory factory = new LettuceConnectionFactory(
				new RedisStandaloneConfiguration("127.0.0.1", this.server.port()), client);
		RedisLeaseStore store = store(factory);
		assertThat(acquire(store, "1")).isInstanceOf(Granted.class);
		this.server.freeze();
		List<CompletableFuture<?>> kept = List.of(store.inspect(lock("key"), 0, 0), store.inspect(lock("key"), 0, 0));
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> acquire(store, "2"))
			.matches(StoreCommandException::isTemporary);
		assertThat(kept).noneMatch(CompletableFuture::isDone);
		this.server.thaw();
		kept.forEach((call) -> get(call));
		assertThat(owner(store, "key")).isEqualTo(INSTANCE + ":1");
	}

	@Test
	@DisplayName("F5 With connections to a master and its replicas, a command may run late, since the driver hides"
			+ " their ends")
	void severalConnections() {
		FaultProxy proxy = proxy();
		RedisLeaseStore store = store(new LettuceConnectionFactory(
				new RedisStaticMasterReplicaConfiguration(this.server.host(), proxy.port())));
		assertThat(acquire(store, "1")).isInstanceOf(Granted.class);
		long before = store.reconnects();
		proxy.swallowRepliesThenFin("EVALSHA");
		assertThat(acquire(store, "2")).isInstanceOf(Busy.class);
		assertThat(proxy.cuts()).isPositive();
		assertThat(store.mayRunLate(before)).isTrue();
	}

	/** Start a listener that has its connections to another port. */
	private NotificationListener listener(int port) {
		HoldfastConnectionFactory connections = HoldfastConnectionFactory.of(factory(port),
				HoldfastConnectionFactory.MAX_SILENCE, new DaemonThreads());
		this.redis.closeAtEnd(connections::destroy);
		ScriptExecutor executor = new ScriptExecutor(factory(this.server.port()), () -> {
		}, new DaemonThreads());
		this.redis.closeAtEnd(() -> executor.close(() -> {
		}));
		NotificationListener listener = new NotificationListener(connections::connectPubSub, executor,
				TestOptions.defaults(), null, 300);
		this.redis.closeAtEnd(listener::close);
		listener.start(INSTANCE, this.wakeUps);
		return listener;
	}

	@Test
	@DisplayName("A subscription at a replica, left behind by a fail-over, does not count")
	void noticesMisplacedSubscription() {
		RedisServer replica = this.redis.startServer("--replicaof", "127.0.0.1", Integer.toString(this.server.port()));
		NotificationListener listener = listener(replica.port());
		StringRedisTemplate onReplica = new StringRedisTemplate(factory(replica.port()));
		await().atMost(Duration.ofSeconds(20)).until(() -> subscribed(onReplica) >= 3);
		assertThat(listener.isListening()).isFalse();
		assertThat(this.listenings).hasValue(0);
	}

	@Test
	@DisplayName("A subscription on a dead connection is noticed and opened again")
	void noticesHalfOpenSubscription() {
		FaultProxy proxy = proxy();
		NotificationListener listener = listener(proxy.port());
		await().atMost(Duration.ofSeconds(30)).until(listener::isListening);
		int before = this.listenings.get();
		proxy.blackHole();
		await().until(() -> !listener.isListening());
		proxy.pass();
		await().atMost(Duration.ofSeconds(30)).until(() -> this.listenings.get() > before && listener.isListening());
	}

	@Test
	@DisplayName("A stop of the store fails the command in flight, and the next command connects again")
	void failsCommandOfClosedConnection() {
		FaultProxy proxy = proxy();
		RedisLeaseStore store = store(factory(proxy.port()));
		assertThat(acquire(store, "1")).isInstanceOf(Granted.class);
		proxy.blackHole();
		CompletableFuture<AcquireReply> reply = store.acquire(lock("another"),
				Commands.forLock(INSTANCE + ":2", LEASE, CLAIM), true);
		store.stop();
		assertThat(reply).failsWithin(Duration.ofSeconds(10))
			.withThrowableOfType(ExecutionException.class)
			.havingCause()
			.matches((failure) -> ((StoreCommandException) failure).isTemporary());
		proxy.pass();
		assertThat(owner(store, "key")).isEqualTo(INSTANCE + ":1");
	}

	@Test
	@DisplayName("The store has its own connections: those of the application may be stopped, pooled or not shared")
	void connectionsOfItsOwn() {
		LettuceConnectionFactory factory = factory(this.server.port());
		factory.setShareNativeConnection(false);
		RedisLeaseStore store = store(factory);
		store.start(INSTANCE, this.wakeUps);
		await().until(store::isListening);
		factory.stop();
		assertThat(acquire(store, "1")).isInstanceOf(Granted.class);
		assertThat(store.isListening()).isTrue();
		assertThat(release(store, INSTANCE + ":1")).isTrue();
	}

	@Test
	@DisplayName("F35 Without the right to read a lease its renewal fails, and the lease does not count as lost")
	void doesNotTakeMissingRightForLoss() {
		RedisLeaseStore store = store();
		assertThat(acquire(store, "1")).isInstanceOf(Granted.class);
		setUser("default", "-mget");
		assertThat(get(store.renew(List.of(renewal("key", INSTANCE + ":1", LEASE))))).containsExactly(true);
		setUser("default", "-get");
		assertThatExceptionOfType(StoreCommandException.class)
			.isThrownBy(() -> get(store.renew(List.of(renewal("key", INSTANCE + ":1", LEASE)))))
			.withMessageContaining("does not give the application's user a right");
	}

	@Test
	@DisplayName("F32 Memory is full: acquire fails with that reason, renew and release still work")
	void worksWithFullMemory() {
		RedisLeaseStore store = store();
		assertThat(acquire(store, "1")).isInstanceOf(Granted.class);
		assertThat(acquire(store, "key", OTHER + ":1")).isInstanceOf(Busy.class);
		assertThat(acquire(store, "second", INSTANCE + ":2")).isInstanceOf(Granted.class);
		assertThat(acquire(store, "third", INSTANCE + ":6")).isInstanceOf(Granted.class);
		assertThat(acquire(store, "third", OTHER + ":6")).isInstanceOf(Busy.class);
		configure("maxmemory", "1");
		assertThat(get(store.force(lock("third"), List.of(INSTANCE + ":6")))).containsExactly(true);
		assertThatExceptionOfType(StoreCommandException.class).isThrownBy(() -> acquire(store, "new", INSTANCE + ":9"))
			.withMessageContaining("out of memory")
			.matches(StoreCommandException::isTemporary);
		assertThat(get(store.acquire(lock("second"), Commands.forLock(OTHER + ":5", LEASE, CLAIM), false)))
			.as("held by another owner")
			.isInstanceOf(Busy.class);
		assertThat(acquire(store, "second", INSTANCE + ":2")).as("requested again").isInstanceOf(Granted.class);
		assertThat(get(store.renew(List.of(renewal("key", INSTANCE + ":1", 2 * LEASE))))).containsExactly(true);
		assertThat(get(store.release(lock("second"), Commands.forLock(INSTANCE + ":2", LEASE, CLAIM),
				Commands.forLock(INSTANCE + ":3", LEASE, CLAIM)))
			.next()).isInstanceOf(Granted.class);
		assertThat(release(store, INSTANCE + ":1")).isTrue();
		assertThat(acquire(store, "key", OTHER + ":1")).as("handed over").isInstanceOf(Granted.class);
		configure("maxmemory", "0");
		assertThat(owner(store, "key")).isEqualTo(OTHER + ":1");
		assertThat(owner(store, "third")).isEqualTo(OTHER + ":6");
	}

	@Test
	@DisplayName("F32 Memory is full: instances still join")
	void joinsWithFullMemory() {
		RedisLeaseStore store = store();
		configure("maxmemory", "1");
		assertThat(get(store.instances()
			.join(INSTANCE, new InstanceInfo("shop", "host", 1), Duration.ZERO, Duration.ofMinutes(3)))).isNull();
		configure("maxmemory", "0");
		assertThat(get(store.instances().members(Duration.ofMinutes(3), 9))).hasSize(1);
	}

	@Test
	@DisplayName("F32 Memory is full after a fail-over: renewals restore lost leases and keep the others")
	void holdsAgainWithFullMemory() {
		String serverKey = "holdfast:fleet:server";
		RedisStoreOptions base = TestOptions.defaults();
		RedisLeaseStore plain = store();
		assertThat(acquire(plain, "1")).isInstanceOf(Granted.class);
		RedisLeaseStore store = store(template(),
				new RedisStoreOptions(base.lockPrefix(), base.semaphorePrefix(), base.channelPrefix(), null,
						base.fenceRetention(), base.handoffTimeout(), false, base.fleetKey(), Duration.ofMillis(LEASE),
						null));
		template().opsForValue().set(serverKey, "0123 456");
		configure("maxmemory", "1");
		assertThat(get(
				store.renew(List.of(renewal("lost", INSTANCE + ":2", LEASE), renewal("key", INSTANCE + ":1", LEASE)))))
			.containsExactly(true, true);
		assertThat(owner(store, "lost")).isEqualTo(INSTANCE + ":2");
	}

	private static int subscribed(StringRedisTemplate template) {
		Properties stats = template
			.execute((RedisCallback<Properties>) (connection) -> connection.serverCommands().info("commandstats"));
		String subscribe = stats.getProperty("cmdstat_subscribe", "calls=0,");
		return Integer.parseInt(subscribe.substring("calls=".length(), subscribe.indexOf(',')));
	}

	private RedisLeaseStore listening() {
		RedisLeaseStore store = store();
		store.start(INSTANCE, this.wakeUps);
		await().until(() -> store.isListening() && this.listenings.get() > 0);
		return store;
	}

	private static AcquireReply acquire(RedisLeaseStore store, String n) {
		return acquire(store, "key", INSTANCE + ":" + n);
	}

	private static AcquireReply acquire(RedisLeaseStore store, String key, String token) {
		return get(store.acquire(lock(key), Commands.forLock(token, LEASE, CLAIM), true));
	}

	private static boolean release(RedisLeaseStore store, String token) {
		return get(store.release(lock("key"), Commands.forLock(token, LEASE, CLAIM), null)).released();
	}

	private static @Nullable String owner(RedisLeaseStore store, String key) {
		return get(store.inspect(lock(key), 0, 0)).owner();
	}

}